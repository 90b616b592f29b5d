#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# left_out.sh DEV: a missing tool does not stop ./dev, its checks are listed at the end, and CI fails where apt has it.
set -euo pipefail
dev=$1
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
mkdir -p "$work/bin" "$work/build"
sed '/^if \[\[ $# -gt 0/,$d' "$dev" >"$work/dev"  # its functions alone

# apt: nothing is installed, and nothing can be; the packages that it knows are those in $work/known.
for tool in dpkg-query apt-get sudo; do printf '#!/bin/sh\nexit 1\n' >"$work/bin/$tool"; done
printf '#!/bin/sh\nshift; for p; do grep -qx "$p" "%s/known" || exit 100; done\n' "$work" >"$work/bin/apt-cache"
chmod +x "$work"/bin/*
: >"$work/known"

run() { (cd "$work" && PATH="$work/bin:$PATH" CI=$1 bash -c 'set -euo pipefail; source ./dev; '"$2" ./dev 2>&1); }
fail() { echo "left_out.sh: $*" >&2; exit 1; }

[[ $(run false 'want spin; echo went on') == *'went on'* ]] || fail "a missing tool stops a run"
[[ $(run true 'want spin; echo went on') == *'went on'* ]] || fail "CI fails over a tool that apt does not have"
echo spin >"$work/known"
[[ $(run false 'want spin; echo went on') == *'went on'* ]] || fail "a run outside of CI fails"
! message=$(run true 'want spin; echo went on') || fail "CI goes on without a tool that apt has"
[[ $message == *'CI: apt has spin'* ]] || fail "the message of CI: $message"

printf -- '-- cke: left out: cuda.protocol: no spin\n-- Configuring done\n' >"$work/build/release.log"
[[ $(run false 'left_out release') == 'cuda.protocol: no spin' ]] || fail "what was left out is not listed"
