package standalone

// WaitHandled is what a backup waits for.
var WaitHandled = waitHandled
