#!/bin/sh
# statusline.sh ROW: standard output is a terminal whose row ROW is the supervisor's, and above which alone it
# scrolls. The supervisor holds the other end of standard input, and says a word there once it has given the row
# back. An end without a word means that it cannot do so any more.
read -r _ || printf '\0337\033[r\033[%d;1H\033[m\033(B\017\033[2K\0338' "$1"
