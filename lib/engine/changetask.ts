/**
 * True when a task clearly asks for a change of a file, and its answer claims the change or only proposes it. It is
 * asked when no call can have made one. Tasks that a text may fulfil ("write", "add", "convert", or a file on stdin)
 * and answers with any hint that nothing was to be changed are left alone.
 */
export function lacksItsChange(task: string, answer: string): boolean {
  return asksForChange(task) && (claim.test(answer) || /^[ \t]*```/m.test(answer)) && !reservation.test(prose(answer));
}

function asksForChange(task: string): boolean {
  const line = task.trim();
  return !line.includes("<stdin>") && order.test(line) && file.test(line) && !textWanted.test(line);
}

const order =
  /^(?:please )?(?:fix|remove|delete|rename|refactor|replace|update)\b|^(?:bitte )?(?:behebe|repariere|korrigiere|entferne|lösche|ersetze|aktualisiere)\s|^请?(?:帮我)?(?:修复|修改|删除|重命名|更新|替换)|(?:修正|削除|変更|更新)してください[。]?$/i;

const file = /(?<![\w.@/:-])[\w./-]*\w\.[a-z]{1,4}(?![\w.])/i;

const textWanted =
  /[?？]|\b(?:not|never|without|no|only|just|print|show|suggest|propose|tell|explain|describe|list|how|what|would|could|should|if|diff|patch|output|stdout|answer|reply|nicht|ohne|nur|zeige|falls|wenn|vorschlag)\b|n't\b|不|只|如果|输出|显示|建议|だけ|表示|提案|場合/i;

/** "I fixed it", or "Fixed it" at the start of a line. */
const claim =
  /(?:^|\n|[.!] )(?:i(?:'ve| have)? (?:now |also )?)?(?:fixed|removed|deleted|renamed|refactored|replaced|updated|changed|corrected)\b|\bich habe\b.* (?:behoben|repariert|korrigiert|entfernt|gelöscht|ersetzt|aktualisiert|geändert)|^(?:已|我已)|(?:しました)[。！]/i;

const reservation =
  /\b(?:no|not|nothing|never|none|neither|already|cannot|without|unable|would|should|previous|earlier|correct|kein\w*|nicht\w*|bereits|schon|ohne|leider)\b|n't\b|不|没|無|无|未|已经是|ない|ません|既に|すでに/i;

function prose(answer: string): string {
  return answer.replace(/^[ \t]*```[^]*?^[ \t]*```/gm, "");
}
