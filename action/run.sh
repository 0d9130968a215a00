#!/usr/bin/env bash
# Runs koda with the inputs of the action, and tells GitHub what came of it. Ends with koda's exit code.
set -euo pipefail

fail() {
  echo "::error title=koda::$1"
  exit 2
}

command -v jq > /dev/null || fail "The runner has no jq: install it before this step"

koda=${KODA:-$RUNNER_TEMP/koda-bin/koda}
# A job may use the action several times, and each has its own patch.
files=$(mktemp -d "$RUNNER_TEMP/koda.XXXXXX")
events=$files/events.jsonl
patch=$files/koda.patch

if [[ -n $KODA_INPUT_REVIEW ]]; then
  [[ -z $KODA_INPUT_PROMPT_FILE ]] || fail "A review takes no prompt-file: use prompt for what it should look at"
  [[ -z $KODA_INPUT_MODE$KODA_INPUT_VERIFY ]] || fail "A review takes no mode and no verify: it reads only"
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

# What commands print could be taken for commands to the runner. It reads stdout and stderr in no certain order, so all of
# it goes to one of them; and the last line may have no end.
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$token"
exit=0
{ "$koda" "${arguments[@]}" > "$events"; } 2>&1 || exit=$?
printf '\n::%s::\n' "$token"

end=$files/end.json
tail -n 1 "$events" | jq -c 'select(.type == "end")' > "$end" 2> /dev/null || true
if [[ ! -s $end ]]; then
  echo '{"status":"failed","session":null,"text":"","error":{"message":"koda ended without a result: see its log above"}}' > "$end"
fi
from_end() { jq -r "$1" "$end" | tr -d '\0'; }

# A delimiter that no answer can know.
output() {
  local delimiter
  delimiter=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  { echo "$1<<$delimiter" && cat && echo "$delimiter"; } >> "$GITHUB_OUTPUT"
}

echo "$exit" | output exit
from_end .status | output status
from_end '.session // ""' | output session
from_end .text | output text
from_end 'if has("output") then .output | tojson else "" end' | output output
from_end '.usage.cost_usd // ""' | output cost
if [[ -s $patch ]]; then echo "$patch"; else echo; fi | output patch

# A summary may be 1 MiB long. The table is first: an answer may leave a block of code open.
{
  echo "### koda: $(from_end .status) (exit $exit)"
  echo
  from_end '"| | |\n|-|-|",
    (if .error then "| error | \(.error.message | gsub("[|\r\n]"; " ")) |" else empty end),
    "| session | \(.session // "none") |",
    "| files changed | \(.files_changed // 0) |",
    "| tokens | \(.usage.input // "unknown") in, \(.usage.output // "unknown") out |",
    "| cost | \(if .usage.cost_usd then "$\(.usage.cost_usd)" else "unknown" end) |"'
  echo
  if [[ -n $KODA_INPUT_REVIEW ]]; then
    from_end '.output.summary // ""'
    # shellcheck disable=SC2016 # backticks of Markdown
    from_end '.output.findings // [] | .[:1000][] | "- **\(.severity)** `\(.path):\(.start_line)` \(.title)"'
  else
    from_end '.text[:200000]'
  fi
} >> "$GITHUB_STEP_SUMMARY"

# The findings, as annotations of the lines that they are about; in another format they are no commands.
[[ -z $KODA_INPUT_REVIEW ]] || from_end .text | grep -E '^::(notice|warning|error) file=' || true
if [[ $exit != 0 ]]; then
  message=$(from_end '.error.message // "koda failed"')
  message=${message//'%'/'%25'}
  message=${message//$'\r'/'%0D'}
  echo "::error title=koda (exit $exit)::${message//$'\n'/'%0A'}"
fi
exit "$exit"
