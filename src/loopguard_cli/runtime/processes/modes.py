"""What switches off everything that a killed program may have left on in a terminal.

Imports nothing: `leader` reads it without the rest of the package.
"""

ALL_ROWS = "\x1b7\x1b[r\x1b8"
"""The scroll region; setting it moves the cursor."""

RESET = "".join(
    (
        "\x1b[?1049l",  # alternate screen
        "\x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l",  # mouse reporting
        "\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l",  # mouse encodings
        "\x1b[?1004l",  # focus reports
        "\x1b[?2004l",  # bracketed paste
        "\x1b[?2026l",  # synchronised output: nothing would be drawn any more
        "\x1b[?2031l",  # reports of the colour scheme
        "\x1b[?2048l",  # reports of the size
        "\x1b[<u",  # keyboard protocol (kitty), one level
        "\x1b[>4;0m",  # modifyOtherKeys (xterm)
        "\x1b[?1l\x1b>",  # cursor and number keys
        "\x1b[?7h",  # line wrap
        ALL_ROWS,
        "\x1b[?25h\x1b[0 q",  # cursor
        "\x1b[0m\x1b(B\x0f",  # colours, character set
        "\r",
    )
)
