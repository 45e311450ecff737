#!/usr/bin/env bash
# Records what every run of the catalogue with every lock, at three seeds, and 2,000 plans of random walks come out as: verdict,
# properties, violations, broken assumptions and the checksum of the trace, a line each. A second recording, made after a change
# that was to change nothing, is compared with the first, line by line.
#
#   cmd/record.sh before.txt             before the change
#   cmd/record.sh after.txt before.txt   after it: prints the lines that differ, and fails if there are any
#
# Sentences and line numbers are left out. So are checksums of rueidislock: its runs do not repeat themselves to the byte.
set -euo pipefail
to=$(realpath "$1") before=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go build -o "$work/lockstep" ./cmd/lockstep
locks=$("$work/lockstep" __complete run --lock "" 2>/dev/null | sed '/^:/d; s/\t.*//')
for seed in 1 2 3; do
  "$work/lockstep" run --json --seed "$seed" || true # what is not as expected is recorded like the rest
  for lock in $locks; do "$work/lockstep" run --json --seed "$seed" --lock "$lock" || true; done
done 2>"$work/errors" | sed -E '
  s/,"file":"[^"]*","line":[0-9]+//; s/"what":"([^"\\]|\\.)*",?//g
  /"lock":"rueidislock/s/"(checksum|events|virtual_ms)":("[^"]*"|[0-9]+),?//g' >"$work/runs"
go test ./scenarios/search -count=1 -run TestPlansAreOneRun -timeout 0 -args -plans 2000 -record "$work/plans" >"$work/log" || { cat "$work/log"; exit 1; }
sort -u "$work/runs" "$work/plans" >"$to"
echo "$(wc -l <"$work/runs") runs and $(wc -l <"$work/plans") plans in $1"
[ -z "$before" ] || diff "$before" "$to"
