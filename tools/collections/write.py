"""Writes the collections that a new server has: types of blocks, types of workers, and flows of integrations.

The types are those that a new server of the installed reference has. It starts within this process, with a database in memory.
The flows are read from the source in the wheels of packages.txt, which are downloaded and never run. Names, types, defaults,
required and secret fields come from there. Sentences, pictures and examples do not: texts.json has our own.

`make collections` runs this script in the environment of the reference version.
"""

import ast
import asyncio
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse
import zipfile

HERE = pathlib.Path(__file__).parent
INTERNAL = HERE.parent.parent / "services/orchestration/internal"
# DROPPED are the members of schemas that are prose or pictures of others.
DROPPED = {"description", "example", "examples", "code_example", "logo_url"}
TEXTS = json.loads((HERE / "texts.json").read_text())


def own(value, texts, path=""):
    """Returns a schema without the prose of others, with our texts at the paths that have one."""
    if isinstance(value, list):
        return [own(item, texts, f"{path}/{i}") for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        # Members of "properties" are names of fields.
        if key in DROPPED and isinstance(item, (str, int, list)) and not path.endswith("/properties"):
            continue
        kept[key] = own(item, texts, f"{path}/{key}")
    if path in texts:
        kept["description"] = texts[path]
    return kept


def write(path, document):
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


async def served():
    """Returns the types of blocks, their schemas and the types of workers of a new server."""
    import httpx
    from asgi_lifespan import LifespanManager
    from prefect.server.api.server import create_app

    app = create_app(ephemeral=True)
    async with LifespanManager(app, startup_timeout=300, shutdown_timeout=300):
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://server/api") as client:

            async def every(path):
                found = []
                while page := (await client.post(path, json={"limit": 200, "offset": len(found)})).json():
                    found += page
                return found

            return await every("/block_types/filter"), await every("/block_schemas/filter")


def packages(prefect):
    """Returns the package of each type of block that the server takes from a collection."""
    data = json.loads((prefect / "server/collection_blocks_data.json").read_text())
    return {slug: name for name, collection in data["collections"].items() for slug in collection["block_types"]}


def write_blocks(prefect, types, schemas):
    package = packages(prefect)
    folder = INTERNAL / "blocks/system"
    for old in folder.glob("*.json"):
        old.unlink()
    for kind in types:
        texts = TEXTS["blocks"][kind["slug"]]
        # A schema that came as a part of others follows the released one, because clients look for the newest by version.
        listed = sorted((s for s in schemas if s["block_type_id"] == kind["id"]), key=lambda s: (s["version"] == "non-versioned", s["checksum"]))
        described = [
            {
                "checksum": s["checksum"],
                "version": s["version"],
                "capabilities": sorted(s["capabilities"]),
                "fields": references_in_order(own(s["fields"], texts.get("fields", {}))),
            }
            for s in listed
        ]
        write(
            folder / f"{kind['slug']}.json",
            {
                "package": package.get(kind["slug"], "prefect"),
                "name": kind["name"],
                "slug": kind["slug"],
                "description": texts["description"],
                "is_protected": kind["is_protected"],
                "documentation_url": kind["documentation_url"],
                "schemas": texts.get("schemas", []) + described,
            },
        )


def references_in_order(value):
    """Orders the references that the server lists in the order of its database."""
    if isinstance(value, list):
        items = [references_in_order(item) for item in value]
        return sorted(items, key=lambda r: r["block_type_slug"]) if items and all(isinstance(r, dict) and "block_schema_checksum" in r for r in items) else items
    if isinstance(value, dict):
        return {key: references_in_order(item) for key, item in value.items()}
    return value


def logo(label, color):
    """Returns a picture with a label as a data address, which needs no other server."""
    size = 26 if len(label) < 3 else 22
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="12" fill="{color}"/>'
        f'<text x="32" y="41" font-family="sans-serif" font-size="{size}" font-weight="bold" text-anchor="middle" fill="#fff">{label}</text></svg>'
    )
    return "data:image/svg+xml," + urllib.parse.quote(svg, safe="=:/")


def write_workers(prefect):
    view = json.loads((prefect / "server/api/collections_data/views/aggregate-worker-metadata.json").read_text())
    view["prefect"].pop("prefect-agent", None)
    document = {}
    for package, workers in view.items():
        for name, worker in workers.items():
            texts = TEXTS["workers"][name]
            document.setdefault(package, {})[name] = {
                "type": worker["type"],
                "display_name": worker["display_name"],
                "description": texts["description"],
                "install_command": worker["install_command"],
                "logo_url": logo(*texts["logo"]),
                "documentation_url": worker["documentation_url"],
                "is_beta": worker["is_beta"],
                "default_base_job_configuration": own(worker["default_base_job_configuration"], texts.get("template", {})),
            }
    write(INTERNAL / "collectionviews/workers.json", document)


JSON_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object", "Dict": "object", "list": "array", "List": "array"}


def parameter(argument, default, position):
    """Returns the schema of a parameter, with a type and a default where the source states simple ones."""
    schema = {"title": argument.arg, "position": position}
    annotation = argument.annotation
    while isinstance(annotation, ast.Subscript):
        annotation = annotation.slice if ast.unparse(annotation.value) == "Optional" else annotation.value
    if isinstance(annotation, ast.Name) and annotation.id in JSON_TYPES:
        schema["type"] = JSON_TYPES[annotation.id]
    if isinstance(default, ast.Constant) and default.value is not None:
        schema["default"] = default.value
    return schema


def flows_of(package, wheel):
    """Yields the flows of a package's modules, in the order of their files."""
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(n for n in archive.namelist() if n.endswith(".py")):
            for function in ast.parse(archive.read(name)).body:
                if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    continue
                decorators = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
                if not any(isinstance(d, ast.Name) and d.id == "flow" for d in decorators):
                    continue
                arguments = function.args.args + function.args.kwonlyargs
                defaults = [None] * (len(function.args.args) - len(function.args.defaults)) + function.args.defaults + function.args.kw_defaults
                pairs = list(zip(arguments, defaults))
                yield (
                    function.name,
                    {
                        "name": function.name.replace("_", "-"),
                        "slug": function.name.replace("_", "-"),
                        "description": {"summary": TEXTS["flows"][function.name]},
                        "entrypoint": f"{name}:{function.name}",
                        "path_containing_flow": name,
                        "install_command": f"pip install {package}",
                        "repo_url": f"https://pypi.org/project/{package}",
                        "documentation_url": f"https://pypi.org/project/{package}",
                        "logo_url": None,
                        "parameters": {
                            "title": "Parameters",
                            "type": "object",
                            "properties": {a.arg: parameter(a, d, i) for i, (a, d) in enumerate(pairs)},
                            "required": [a.arg for a, d in pairs if d is None],
                        },
                    },
                )


def write_flows(folder):
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check", "--dest", folder, "--requirement", HERE / "packages.txt"], check=True)
    document = {}
    for wheel in sorted(pathlib.Path(folder).glob("*.whl")):
        package = wheel.name.split("-")[0].replace("_", "-")
        document[package] = dict(flows_of(package, wheel))
    write(INTERNAL / "collectionviews/flows.json", document)


def main():
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(PREFECT_HOME=home, PREFECT_SERVER_ANALYTICS_ENABLED="false", DO_NOT_TRACK="1")
        import prefect

        source = pathlib.Path(prefect.__file__).parent
        write_blocks(source, *asyncio.run(served()))
        write_workers(source)
        write_flows(home)
    print(f"wrote the collections of prefect {prefect.__version__}")


if __name__ == "__main__":
    main()
