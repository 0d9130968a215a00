/** A language in which models announce what they are about to do. */
type Language = {
  /** A word of every announcement: without one the longer patterns are not even compiled, which takes a millisecond. */
  speaker: RegExp;
  announces: RegExp;
  /** An offer, a condition, a refusal, or a report in the same words. */
  unless: RegExp;
};

/** True when a sentence announces an action of the speaker that is still to come: "Now I'll run the tests." */
export function isAnnouncement(sentence: string): boolean {
  const plain = sentence
    .replaceAll("’", "'")
    .replace(/`[^`]*`/g, "x")
    .replace(/"[^"]*"|“[^”]*”|„[^“”]*[“”]|「[^」]*」|『[^』]*』/g, "")
    // "Let me summarize: all tests pass."
    .replace(/^.*(?:: |：)(?=.)/, "");
  return languages.some(
    ({ speaker, announces, unless }) => speaker.test(plain) && announces.test(plain) && !unless.test(plain),
  );
}

/** `\b` does not know umlauts, and `\p{L}` takes milliseconds to compile. */
const word = (words: string) => `(?<![a-zäöüß])(?:${words})(?![a-zäöüß])`;
const either = (...patterns: string[]) => new RegExp(patterns.join("|"), "i");

const work =
  "adapt|add(?! that)|adjust|analy[sz]e|apply|begin|build|change|check|clean|compare|compile|configure|continue|" +
  "convert|correct|create|debug|delete|dig|edit|examine|execute|explore|extend|fetch|figure|find|fix|gather|generate|" +
  "get|go ahead|handle|help|implement|inspect|install|investigate|list|locate|look|merge|modify|move|open|proceed|" +
  "put together|read|refactor|remove|rename|replace|reproduce|rerun|review|rewrite|run|scan|search|set up|simplify|" +
  "split|start|take a|test|trace|try (?!to be)|understand|update|use .* to|verify|view|wire|write|work on";
const working = "add|apply|build|check|creat|fix|implement|install|look|read|review|runn|search|start|test|updat|writ";
const intent = "i(?:'m| am) (?:going|about) to";
const future = `i(?:'ll| will)|${intent}`;
const marker = "now|next|then|first";
const inaction = word("not|never|be|leave|stop|wait|await|hold|pause|need|refrain|keep|skip|have|see|stay");
const talk = "assume|be|clarify|emphasi[sz]e|encrypt|explain|know|note|point|recap|remind|say|stress|summari[sz]e";
const clause = `(?:^|[,;–—] ?|\\s-\\s|${word(`so|and|but|${marker}`)},? )`;
const english: Language = {
  speaker: /\b(?:i|let|time|moving|proceeding|moment)\b/i,
  announces: either(
    `${clause}(?:let me|let's|let us) (?!${word(talk)})`,
    `${word(marker)},? (?:${future}) (?!${inaction})`,
    `${word(future)} (?:${marker}) (?!${inaction})`,
    `${word(future)} (?:also |just |quickly )?${word(work)}`,
    `${word(intent)} (?!${inaction}|${word(talk)})`,
    `${word("now|next|first")},? i (?:need|have|want) to (?!${word(`${talk}|mention|thank|${inaction}`)})`,
    `^i (?:need|have) to ${word(work)}.* first[^a-z]*$`,
    `${word("i'm|i am")} now (?:${working})ing `,
    `^time to ${word(work)}`,
    `^(?:now )?(?:moving on to|proceeding (?:to|with)) (?!.*${word("is|are|was|were|will|means")})`,
    "^(?:one moment|please wait while i)\\b",
  ),
  unless: either(
    "^(?:if|should|unless|otherwise|when) ",
    word("if (?:you|needed|necessary|desired|wanted|required|so)|once|unless|(?:when|whenever|after|as soon as) you"),
    word("let me know|tell me|say the word|just (?:ask|say)|only|feel free|happy to|would|could|future"),
    word("from (?:now|then) on|next (?:session|run|time|week)|later|tomorrow"),
  ),
};

const germanWork =
  "prüfe|überprüfe|starte|ändere|passe|erstelle|schreibe|implementiere|behebe|korrigiere|aktualisiere|führe|" +
  "untersuche|analysiere|entferne|ersetze|teste|repariere|beginne|erweitere|installiere";
const germanFuture = `werde|schaue|sehe|lese|suche|mache|baue|füge|gehe|ergänze|${germanWork}`;
const germanMarker = "jetzt|nun|als nächstes|als erstes|zuerst|zunächst|danach|anschließend|dann|gleich";
const german: Language = {
  speaker: /\b(?:ich|mich|uns|wir)\b/i,
  announces: either(
    `${word(germanMarker)},? ${word(germanFuture)} ich`,
    `${word("ich")} ${word(germanFuture)} .*${word(germanMarker)}`,
    `^ich ${word(germanWork)}`,
    `${clause}${word("lass|lasst|lassen sie")} (?:mich|uns) `,
    `^${word("schauen|sehen|prüfen")} wir `,
  ),
  unless: either(
    word("nicht|kein|keine|keinen|falls|wenn|sobald|gewünscht|bescheid|wissen|möchten|möchtest|künftig|ab jetzt"),
  ),
};

const chinese: Language = {
  speaker: /[我来]|开始/,
  announces: either(
    "让我(?!们?知道|失望)",
    "(?:现在|接下来|首先|下面|然后|下一步)，?(?:我们?|开始|来(?!不及))",
    "我(?:现在|先|来|会先|这就|马上|接着|需要先|开始|要先|打算)|我们(?:来(?!不及)|现在|接下来)",
    "我将(?:会|要|先|继续|开始|立即|运行|检查|修改|修复|更新|添加|创建|实现|编写|查看|测试|删除|分析|使用)",
  ),
  // 了 marks what has happened.
  unless: either(
    "如果|若|要是|如需|假如|一旦|告诉|建议|等待|[您你](?:可以|需要)|不会|不能|不再|没有|没能|无法|以后|(?<!为)了(?!解)",
  ),
};

const japanese: Language = {
  speaker: /ます|ましょう/,
  announces: either(
    "^(?:それでは|では|まずは?|次に|続いて|続けて|今から|これから|最初に|早速).*(?:ます|ましょう)ね?[。！]?$",
    "^[^はがも]*(?:[てで]みます|ましょう|調べます|(?:確認|調査|修正|実行|実装|更新|作成|追加|開始|検証)し(?:ていき)?ます)[。！]?$",
  ),
  unless: either(
    "ください|れば|たら|なら|場合|今後|勧め|ません|すると|お願い|失礼|、次に|自動|時に|ごとに|(?:され|なり|でき)ます",
  ),
};

const languages: readonly Language[] = [english, german, chinese, japanese];
