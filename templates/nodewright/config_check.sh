#!/usr/bin/env bash
# Compares the files of the node with those that are listed beside this script.
set -euo pipefail

folder=${SKYHOOK_DIR:?}/configmaps
while read -r _ key path; do
    cmp "$folder/$key" "${ROOT:-}$path"
done <"$folder/files"
