#!/usr/bin/env bash
# Runs koda with the inputs of the action, and tells GitHub what came of it. Ends with koda's exit code.
set -euo pipefail

fail() {
  echo "::error title=koda::$1"
  exit 2
}

command -v jq > /dev/null || fail "The runner has no jq: install it before this step"

koda=${KODA:-$RUNNER_TEMP/koda-bin/koda}
events=$RUNNER_TEMP/koda-events.jsonl
patch=$RUNNER_TEMP/koda.patch
rm -f "$events" "$patch"

if [[ -n $KODA_INPUT_REVIEW ]]; then
  [[ -z $KODA_INPUT_PROMPT_FILE ]] || fail "A review takes no prompt-file: use prompt for what it should look at"
  arguments=(review --format github)
  if [[ $KODA_INPUT_REVIEW == uncommitted ]]; then arguments+=(--uncommitted); else arguments+=(--base "$KODA_INPUT_REVIEW"); fi
  [[ -z $KODA_INPUT_FAIL_ON ]] || arguments+=(--fail-on-severity "$KODA_INPUT_FAIL_ON")
else
  arguments=(exec --patch "$patch" --stdin ignore)
  [[ -z $KODA_INPUT_PROMPT_FILE ]] || arguments+=(-f "$KODA_INPUT_PROMPT_FILE")
  [[ -z $KODA_INPUT_MODE ]] || arguments+=(--mode "$KODA_INPUT_MODE")
  [[ -z $KODA_INPUT_VERIFY ]] || arguments+=(--verify "$KODA_INPUT_VERIFY")
  [[ -z $KODA_INPUT_FAIL_ON ]] || arguments+=(--fail-on "$KODA_INPUT_FAIL_ON")
fi
arguments+=(--output jsonl)
[[ -z $KODA_INPUT_MODEL ]] || arguments+=(--model "$KODA_INPUT_MODEL")
[[ -z $KODA_INPUT_MAX_COST ]] || arguments+=(--max-cost "$KODA_INPUT_MAX_COST")
[[ -z $KODA_INPUT_TIMEOUT ]] || arguments+=(--timeout "$KODA_INPUT_TIMEOUT")
if [[ -n $KODA_INPUT_SESSION ]]; then
  export KODA_HOME=$RUNNER_TEMP/koda-home
  mkdir -p "$KODA_HOME"
  arguments+=(--session "$KODA_INPUT_SESSION")
fi
while IFS= read -r host; do [[ -z $host ]] || arguments+=(--allow-net "$host"); done <<< "$KODA_INPUT_ALLOW_NET"
while IFS= read -r flag; do [[ -z $flag ]] || arguments+=("$flag"); done <<< "$KODA_INPUT_ARGS"
[[ -z $KODA_INPUT_PROMPT ]] || arguments+=(-- "$KODA_INPUT_PROMPT")

# What commands print could be taken for commands to the runner.
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$token"
exit=0
"$koda" "${arguments[@]}" > "$events" || exit=$?
echo "::$token::"

end=$(tail -n 1 "$events" | jq -c 'select(.type == "end")' 2> /dev/null || true)
[[ -n $end ]] || end='{"status":"failed","session":null,"text":"","error":{"message":"koda was killed"}}'
from_end() { jq -r "$1" <<< "$end"; }

output() {
  local delimiter
  delimiter=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '%s<<%s\n%s\n%s\n' "$1" "$delimiter" "$2" "$delimiter" >> "$GITHUB_OUTPUT"
}

text=$(from_end .text)
output exit "$exit"
output status "$(from_end .status)"
output session "$(from_end '.session // ""')"
output text "$text"
output output "$(from_end 'if has("output") then .output | tojson else "" end')"
output cost "$(from_end '.usage.cost_usd // ""')"
output patch "$([[ ! -s $patch ]] || echo "$patch")"

# A summary may be 1 MiB long.
{
  echo "### koda: $(from_end .status) (exit $exit)"
  echo
  if [[ -n $KODA_INPUT_REVIEW ]]; then
    from_end '.output.summary // ""'
    # shellcheck disable=SC2016 # backticks of Markdown
    from_end '.output.findings // [] | .[] | "- **\(.severity)** `\(.path):\(.start_line)` \(.title)"'
  else
    head -c 500000 <<< "$text"
  fi
  echo
  from_end '"| | |\n|-|-|",
    (if .error then "| error | \(.error.message | gsub("[|\n]"; " ")) |" else empty end),
    "| session | \(.session // "none") |",
    "| files changed | \(.files_changed // 0) |",
    "| tokens | \(.usage.input // 0) in, \(.usage.output // 0) out |",
    "| cost | \(if .usage.cost_usd then "$\(.usage.cost_usd)" else "unknown" end) |"'
} >> "$GITHUB_STEP_SUMMARY"

# The findings, as annotations of the lines that they are about.
[[ -z $KODA_INPUT_REVIEW || -z $text ]] || printf '%s\n' "$text"
if [[ $exit != 0 ]]; then
  message=$(from_end '.error.message // "koda failed"')
  message=${message//'%'/'%25'}
  message=${message//$'\r'/'%0D'}
  echo "::error title=koda (exit $exit)::${message//$'\n'/'%0A'}"
fi
exit "$exit"
