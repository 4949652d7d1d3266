#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_output.py SOURCE PROGRAM: runs PROGRAM; exit code 0 only if it succeeds and prints exactly
what the comment after "Expected:" on top of SOURCE says."""
import difflib
import re
import subprocess
import sys

source, program = sys.argv[1:]
expected, indent = [], None
for line in open(source):
    if not line.startswith("//"):
        if expected:
            break
        continue
    text = line[2:].rstrip("\n")
    if match := re.match(r"( *Expected: *)(.*)", text):
        indent = len(match[1])
        expected.append(match[2])
    elif indent is not None:
        expected.append(text[indent:].rstrip())
got = subprocess.run([program], capture_output=True, text=True)
printed = [line.rstrip() for line in got.stdout.rstrip("\n").split("\n")]
if got.returncode == 0 and printed == expected:
    sys.exit(0)
print(got.stderr, *difflib.unified_diff(expected, printed, "expected", "printed", lineterm=""), sep="\n")
print(f"exit code {got.returncode}. If the new output is right, put it on top of {source}.")
sys.exit(1)
