"""How different agents name their tools and arguments."""

from __future__ import annotations

from typing import Any, NamedTuple


class Host(NamedTuple):
    """One agent's vocabulary; argument names stand beside the tools they belong to."""

    name: str
    read: str
    read_path: str
    offset: str
    limit: str
    shell: str
    command: str
    describes: bool
    """Shell calls carry a description that is worded anew each time."""
    search: str
    pattern: str
    listing: str
    edit: str
    edit_path: str
    old: str
    new: str
    write: str
    write_path: str
    content: str
    fetch: str
    web: str
    todo: str
    todos: str
    task: str
    prompt: str
    flags_failure: bool = True
    """Failed calls are marked as failed; otherwise only the output tells."""
    edited: str = "The file {path} has been updated."
    argv: bool = False
    """Commands are lists of words."""
    view: str = ""
    """An editor with sub-commands (`str_replace_editor`): the one that reads."""

    def shell_args(self, command: str, description: str) -> dict[str, Any]:
        args: dict[str, Any] = {self.command: ["bash", "-lc", command] if self.argv else command}
        if self.describes:
            args["description"] = description
        return args

    def read_args(self, path: str, start: int | None = None, count: int | None = None) -> dict[str, Any]:
        args: dict[str, Any] = {self.read_path: path}
        if self.view:
            args["command"] = self.view
        if start is not None:
            args[self.offset] = start
        if count is not None:
            args[self.limit] = count
        return args

    def edit_args(self, path: str, old: str, new: str) -> dict[str, Any]:
        args: dict[str, Any] = {self.edit_path: path, self.old: old, self.new: new}
        if self.view:
            args["command"] = "str_replace"
        return args

    def write_args(self, path: str, content: str) -> dict[str, Any]:
        args: dict[str, Any] = {self.write_path: path, self.content: content}
        if self.view:
            args["command"] = "create"
        return args


HOSTS = (
    Host("claude", "Read", "file_path", "offset", "limit", "Bash", "command", True, "Grep", "pattern", "Glob",
         "Edit", "file_path", "old_string", "new_string", "Write", "file_path", "content", "WebFetch",
         "WebSearch", "TodoWrite", "todos", "Task", "prompt"),
    Host("opencode", "read", "filePath", "offset", "limit", "bash", "command", True, "grep", "pattern",
         "list",
         "edit", "filePath", "oldString", "newString", "write", "filePath", "content", "webfetch",
         "websearch",
         "todowrite", "todos", "task", "prompt", edited="Edit applied successfully."),
    Host("gemini", "read_file", "absolute_path", "offset", "limit", "run_shell_command", "command", True,
         "search_file_content", "pattern", "list_directory", "replace", "file_path", "old_string",
         "new_string", "write_file", "file_path", "content", "web_fetch", "google_web_search", "write_todos",
         "todos", "delegate_to_agent", "objective",
         edited="Successfully modified file: {path} (1 replacements)."),
    Host("codex", "view", "path", "start", "count", "shell", "command", False, "rg", "query", "list_dir",
         "apply_patch", "path", "before", "after", "create_file", "path", "text", "fetch_url", "web_search",
         "update_plan", "plan", "spawn_agent", "message", flags_failure=False, edited="Success. Updated the "
         "following files:\nM {path}", argv=True),
    Host("cline", "read_file", "path", "start_line", "line_count", "execute_command", "command", False,
         "search_files", "regex", "list_files", "replace_in_file", "path", "search", "replace",
         "write_to_file", "path", "content", "browser_fetch", "web_search", "update_todo_list", "todos",
         "new_task", "message", edited="The content was successfully saved to {path}."),
    Host("cursor", "read_file", "target_file", "offset", "limit", "run_terminal_cmd", "command", False,
         "grep_search", "query", "list_dir", "search_replace", "file_path", "old_string", "new_string",
         "edit_file", "target_file", "code_edit", "fetch_page", "web_search", "todo_write", "todos",
         "run_subagent", "task", flags_failure=False, edited="ok"),
    Host("openhands", "str_replace_editor", "path", "view_start", "view_count", "execute_bash", "command",
         False, "search_dir", "search_term", "find_file", "str_replace_editor", "path", "old_str", "new_str",
         "str_replace_editor", "path", "file_text", "browse", "web_search", "task_tracker", "task_list",
         "delegate", "task", flags_failure=False, edited="The file {path} has been edited.", view="view"),
    Host("goose", "developer__read_file", "path", "from", "lines", "developer__shell", "command", False,
         "developer__search", "query", "developer__list", "developer__edit_file", "path", "old_str",
         "new_str",
         "developer__write_file", "path", "file_text", "computercontroller__web_scrape",
         "extension__web_search", "todo__write", "content", "subagent__execute_task", "instructions"),
    Host("openclaw", "read", "path", "offset", "limit", "exec", "command", False, "search", "pattern", "ls",
         "edit", "path", "oldText", "newText", "write", "path", "content", "web_fetch", "web_search", "todo",
         "items", "sessions_spawn", "task", edited="edited {path}"),
    Host("kimi", "ReadFile", "path", "line_offset", "n_lines", "Shell", "command", False, "Grep", "pattern",
         "Glob", "StrReplaceFile", "path", "old", "new", "WriteFile", "path", "content", "FetchURL",
         "SearchWeb", "SetTodoList", "todos", "Task", "prompt", edited="File successfully edited."),
    Host("mcp", "mcp__fs__read_text_file", "path", "head_from", "head", "mcp__term__run_command",
         "cmd", False,
         "mcp__fs__search_files", "pattern", "mcp__fs__list_directory", "mcp__fs__edit_file", "path",
         "oldText",
         "newText", "mcp__fs__write_file", "path", "content", "mcp__web__get_page", "mcp__web__search",
         "mcp__plan__set_todos", "items", "mcp__agents__delegate_task", "task", edited="applied 1 edit"),
)  # fmt: skip
