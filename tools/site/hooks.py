"""Makes a site of the documents, which are written for readers of the repository."""

import os
import pathlib
import re

from mkdocs.structure.files import File
from pymdownx.slugs import slugify
from pymdownx.superfences import fence_code_format

ROOT = pathlib.Path(__file__).parents[2]
REPOSITORY = "https://github.com/orch-project/orch"
# FOLDERS are pages that docs/README.md does not list one by one, below its last section.
FOLDERS = {"Decisions": "adr/*.md", "Measurements": "benchmarks/*.md"}


def on_config(config):
    """Takes the navigation from docs/README.md: a tab for each section, with the pages that the section links to."""
    docs = pathlib.Path(config.docs_dir)
    config.nav = ["README.md"]
    for section in re.split(r"^## ", (docs / "README.md").read_text(), flags=re.MULTILINE)[1:]:
        title, text = section.split("\n", 1)
        config.nav.append({title: re.findall(r"\]\(((?:tutorials/)?[\w-]+\.md)\)", text)})
    for title, pattern in FOLDERS.items():
        [pages] = config.nav[-1].values()
        pages.append({title: sorted(str(page.relative_to(docs)) for page in docs.glob(pattern))})
    # Anchors are those of the repository's host.
    config.mdx_configs["toc"] = {"slugify": slugify(case="lower"), "permalink": True}
    config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [{"name": "mermaid", "class": "mermaid", "format": fence_code_format}]}
    return config


def on_files(files, config):
    """Adds the program that draws the diagrams, with its licence. MERMAID is its unpacked package."""
    for name in ["dist/mermaid.min.js", "LICENSE"]:
        source = os.path.join(os.environ["MERMAID"], name)
        files.append(File.generated(config, f"assets/mermaid/{os.path.basename(name)}", abs_src_path=source))
    return files


def on_page_markdown(markdown, page, **_):
    """Links files beside the documents in the repository, and shows the names of code blocks."""
    folder = pathlib.Path(page.file.abs_src_path).parent

    def link(match):
        path = (folder / match[1]).resolve()
        if path.is_relative_to(ROOT / "docs") or not path.exists():
            return match[0]
        kind = "tree" if path.is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{path.relative_to(ROOT)}{match[2]})"

    def name(match):
        return f'```{match[1]} title="{"a further terminal" if match[2] == "terminal" else match[2]}"'

    markdown = re.sub(r"\]\(([^)#:\s]+)((?:#[^)]*)?)\)", link, markdown)
    return re.sub(r"^```(\w+) (\S+)$", name, markdown, flags=re.MULTILINE)
