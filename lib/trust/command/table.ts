/*
 * Programs, and what their forms do. A row is a program and then its operands in order, which may go on with others;
 * rows are separated by semicolons.
 *
 *   a|b  x*  ?*   either, any that begins so, any     **   any number of operands     $   no more operands
 *   <name>        an operand that matches the pattern of this name, below
 *   :x            not a word but what a row of its table says beside
 *   -x|--long     one of these options is there; `-x=v` with this value
 *   !-x|--long    and none of these; in a row for reading nor anything that could be one
 *
 * The worst row that matches decides, and of those of one table the first. A program without one writes something.
 */

/** Effects that no snapshot can undo. What may be rehearsed is no such effect with the option that rehearses it. */
const destructive = `
  sudo|doas|su|sudoedit|pkexec|runuser|gosu|su-exec|run0; shutdown|reboot|halt|poweroff; init|telinit 0|6;
  systemctl poweroff|reboot|halt|kexec; mkfs|mke2fs|mkswap|wipefs|fdisk|sfdisk|cfdisk|gdisk|sgdisk|parted|blkdiscard;
  cryptsetup luksFormat|luksErase|erase; lvremove|vgremove|pvremove|userdel|groupdel|dropuser|dropdb; zfs|zpool destroy;
  btrfs subvolume delete; diskutil erase*; crontab -r; kill $ -1; kill ** *-1;

  git push|send-pack|http-push --force|-f|--force-with-lease|--force-if-includes !--dry-run|-n;
  git push|send-pack --mirror !--dry-run|-n; git push --delete|-d !--dry-run|-n; git push --prune !--dry-run|-n;
  git push|send-pack ** +*|:?* !--dry-run|-n; git push -c=remote.*.mirror=*|-c=remote.*.push=+* !--dry-run|-n;
  git stash drop|clear; git reflog expire|delete; git gc --prune=now|--prune=all; git prune|filter-repo;
  hg push -f|--force; jj git push --deleted;

  pnpm|bun|yarn|cargo|deno|jsr|uv|poetry|flit|hatch|pdm|rye publish !--dry-run; npm pub* !--dry-run;
  npm|pnpm unpub* !--dry-run; npm|pnpm dist-tag|dist-tags rm; yarn npm publish !--dry-run;
  yarn workspace ?* publish !--dry-run; yarn workspace ?* npm publish !--dry-run;
  yarn workspaces foreach publish !--dry-run; cargo|gem yank; cargo +* publish !--dry-run; npm deprecate; npm owner rm;
  npm access|token revoke; cargo owner --remove|-r; gem push; twine upload; dotnet nuget push|delete;
  mvn|mvnw ** deploy|deploy:deploy|release:perform; gradle|gradlew ** publish*|upload*|*:publish*; nuget push|delete;
  mix hex.publish; pod trunk push|delete; luarocks|cabal upload; lerna|changeset|vsce|ovsx publish|unpublish;
  pnpm|yarn|bun changeset|lerna|vsce|ovsx publish|unpublish; semantic-release|release-it !--dry-run; goreleaser release;

  gh * delete*; gh repo sync --force; gh repo archive; gh pr close --delete-branch|-d; glab * delete;
  hub release delete; gh|glab|hub api -X=DELETE|--method=DELETE;
  gh api graphql -f=*mutation*delete*|-F=*mutation*delete*|--raw-field=*mutation*delete*|--field=*mutation*delete*;

  terraform|tofu|terragrunt|pulumi|cdk|vagrant|eksctl destroy|destroy-all; terragrunt run-all|run ** destroy;
  terraform|tofu|terragrunt apply -destroy|--destroy; terraform|tofu workspace delete; terraform|tofu state rm;
  serverless|sls remove; kubectl|oc delete !--dry-run; kubectl|oc drain !--dry-run; kubectl|oc replace --force;
  kubectl|oc apply --prune !--dry-run; eksctl ** delete; pulumi stack rm; helm uninstall|delete|del|un !--dry-run;
  argocd app delete; flux uninstall|delete; nomad job stop -purge; consul kv delete; vault ** delete|destroy;

  aws s3 rm|rb !--dryrun; aws s3 sync|mv --delete !--dryrun; gcloud ** delete|purge|rm; gsutil ** rm|rb; bq rm;
  aws ** delete*|terminate*|deregister*|purge*|destroy*|batch-delete*|schedule-key-deletion !--dry-run;
  az ** delete*|purge; doctl ** delete|rm; heroku *destroy|*reset; fly|flyctl ** destroy; vercel|now rm|remove;
  netlify *delete; wrangler ** delete;
  pnpm|yarn|bun wrangler|vercel|netlify|firebase|serverless|sls|cdk ** *delete|rm|remove|destroy;
  firebase *delete|*disable; rclone delete|deletefile|purge|cleanup|sync !--dry-run; s3cmd del|rm|rb !--dry-run;
  mc rm|rb;

  docker|podman system prune; docker|podman volume rm|remove|prune; docker|podman compose down -v|--volumes;
  docker-compose|podman-compose down -v|--volumes; etcdctl del;

  curl ** <away> -X=DELETE|--request=DELETE; curl -X=DELETE|--request=DELETE --url=<away>; wget --method=DELETE;
  http|https|xh DELETE; rsync ** <host> $ --delete*|--del; mysqladmin ** drop;
  psql|mysql|mariadb|mongo|mongosh|redis-cli|cqlsh|sqlcmd|clickhouse-client ** <drops>;
  psql|mysql|mariadb|mongo|mongosh -c=<drops>|-e=<drops>|--command=<drops>|--execute=<drops>|--eval=<drops>
`;

/**
 * The operands that follow are a command, or with `:text` text for a shell, joined by blanks; with none it may read
 * that from its input. What the program does beside that is named, when it is no read.
 */
const running = `
  command|builtin|exec|busybox|toybox|nohup|nice|ionice|setsid|stdbuf|chronic|caffeinate|unbuffer !-v|-V;
  time|gtime :write -o|--output; env|time|gtime|fakeroot|xargs|unshare|xvfb-run; flock|chroot|setarch :write ?*;
  timeout|gtimeout|chrt|taskset|prlimit ?*; git :write bisect run; python|python3|py :write -m;
  strace|ltrace|setpriv|nsenter|systemd-run|firejail|bwrap|torsocks|proxychains|proxychains4|numactl|entr|dotenv :write;
  poetry|pipenv|uv|pdm|rye|hatch|rbenv|pyenv|op|doppler|infisical|dotenvx :write run|exec;
  bundle|mise|asdf|opam :write exec|x; direnv|aws-vault|chamber|conda :write exec|run ?*; npx|bunx|pnpx|uvx :remote;
  pipx :remote run; uv :remote tool run; npm|pnpm|yarn|bun :remote exec|x|dlx;
  nix :remote develop|shell|run .*|*#*|*:*|/*; nix :remote develop|shell|run; docker|podman :remote exec|run ?*;
  docker|podman :remote compose exec|run ?*; kubectl|oc :remote exec ?*; eval|trap|watch :text;
  parallel|nix-shell|concurrently :text :write; git :text :write submodule foreach; ssh|mosh :text :remote ?*
`;

const looks = "!-c=<steering>|--config-env|--exec-path|--output|--ext-diff|--open-files-in-pager|--web|--lost-found";
const renames = `${looks}|-d|-D|--delete|-m|-M|--move|--copy|-u|--set-upstream-to|--unset-upstream|-f|--force|-t|-e`;
const extracts =
  "!-I|--use-compress-program|--to-command|--checkpoint-action|--info-script|-F|--index-file|--volno-file|--rsh-command|--new-volume-script|-g|--listed-incremental|-M|-x|--extract";

/**
 * Changing nothing on this machine, and asking no other. With `:sets` a variable may be set, or a text evaluated, which
 * runs the substitutions in it.
 */
const reading = `
  :|apropos|arch|b2sum|base32|base64|basename|bzcat|cal|caller|cat|cd|chdir|cksum|cmp|col|colordiff|column|comm|cut|df;
  diff|dir|dirname|dirs|du|echo|egrep|exa|expand|expr|eza|factor|false|fgrep|fmt|fold|free|getconf|getent|grep|groups;
  head|hexdump|hexyl|hostid|id|join|jq|last|locale|locate|logname|look|ls|lsblk|lscpu|lsof|lspci|lsusb|md5|md5sum|more;
  nl|nproc|numfmt|od|paste|pathchk|pgrep|pidof|pinky|pr|printenv|ps|pstree|pwd|readelf|readlink|realpath|rev|seq;
  sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|shasum|shellcheck|shopt|sleep|stat|sum|tac|tail|times|tokei|tput|tr;
  true|tsort|tty|type|ulimit|umask|uname|unexpand|uptime|users|vdir|vmstat|w|wc|whatis|whereis|which|who|whoami|xzcat;
  xzgrep|yes|zcat|zegrep|zfgrep|zgrep|zipinfo|break|continue|exit|popd|pushd|return|shift|unalias|alias;
  [|test|let|declare|typeset|local|export|readonly|unset|set|read|wait|getopts :sets; nm|objdump|size|strings !--plugin;
  diff3 !--diff-program; lastlog !-C|-S|--clear|--set; mapfile|readarray :sets !-C; printf !-v; kill -l $;
  command -v|-V; ag|bat !--pager; jobs !-x; tree !-o; date $ !-s|--set; date +* $ !-s|--set;
  dmesg !-c|-C|--clear|--read-clear|-D|-E|-n; hostname $ !-F|--file|-b; fd|fdfind !-x|-X|--exec|--exec-batch;
  file !-C|--compile; find !-delete|-fprint|-fprint0|-fprintf|-fls; iconv !-o|--output;
  journalctl !--vacuum-*|--rotate|--flush|--setup-keys|--update-catalog; ss !-K|--kill|-D|--diag;
  less !-o|-O|--log-file|--LOG-FILE; man !-P|--pager|-H|--html; rg !--pre|--hostname-bin;
  scc !-o|--output|--format-multi; sort !-o|--output|--compress-program; uniq $; uniq ?* $; xxd $ !-r; xxd ?* $ !-r;
  yq !-i|--inplace|--in-place|-s|--split-exp; sed|gsed <edits> !-i|--in-place|-f|--file|-e|--expression;
  sed|gsed -e|--expression !-i|--in-place|-f|--file|-e=<more>|--expression=<more>;
  awk|gawk|mawk|nawk <prints> !-f|--file|-i|--include|-l|--load|-E|--exec|-o|-p|-d|-D|-e|--source;
  unzip -l|-t|-p|-c|-Z|-v; tar -t|--list ${extracts}; tar t|tv|tf|tvf|tzf|tzvf|tvzf|tjf|tjvf|tJf|tJvf ${extracts};
  gzip|gunzip|bzip2|bunzip2|xz|unxz|zstd -c|--stdout|--to-stdout|-l|--list|-t|--test !-o;

  git $; git --version|--help $; git grep ${looks}|-O; git remote|submodule|notes $ ${looks};
  git annotate|blame|cat-file|check-attr|check-ignore|check-mailmap|check-ref-format|cherry|count-objects ${looks};
  git describe|diff|diff-files|diff-index|diff-tree|for-each-ref|fsck|get-tar-commit-id|help|log|ls-files ${looks};
  git ls-tree|merge-base|merge-tree|name-rev|patch-id|range-diff|reflog|rev-list|rev-parse|shortlog|show ${looks};
  git show-branch|show-index|show-ref|status|stripspace|var|verify-commit|verify-pack|verify-tag|version ${looks};
  git whatchanged ${looks}; git stash list|show ${looks}; git remote get-url ${looks};
  git submodule status|summary ${looks}; git notes|sparse-checkout|worktree list ${looks}; git bisect log ${looks};
  git bundle verify|list-heads ${looks}; git branch|tag $ ${renames};
  git branch -l|--list|-a|--all|-r|--remotes|--contains|--no-contains|--merged|--no-merged|--points-at ${renames};
  git tag -l|--list|-n|-v|--verify|--contains|--merged|--points-at ${renames}|-a|--annotate|-s|--sign|--message|-F;
  git config get|list ${looks}; git config $ --get|--get-all|--get-regexp|-l|--list ${looks}; git config *.* $ !-*;
  git symbolic-ref * $ ${looks}|-d|--delete; git hash-object ${looks}|-w; git format-patch --stdout ${looks}|-o;
  git apply --check|--stat|--numstat|--summary ${looks}|--apply;

  npm|pnpm|yarn ls|list|root|prefix|bin|explain|why; pip|pip3 list|show|freeze|check; go version; go env !-w|-u;
  cargo tree|metadata|locate-project; docker|podman ps|images|logs|inspect|version|info|top|port|diff|history;
  docker|podman container|image|volume|network ls|list|inspect; crontab $ -l;
  docker|podman compose ps|logs|ls|images|top|version; docker-compose ps|logs|images|top|version;
  systemctl status|show|cat|is-active|is-enabled|is-failed|list-*; dpkg -l|-L|-s|-S; rpm -q|-qa|-qi|-ql|-qf|--query
`;

/** Asking another machine for something, or telling it something. */
const remote = `
  curl|dig|ftp|http|https|lftp|nc|ncat|nmap|nslookup|ping|rdate|scp|sftp|socat|ssh|telnet|traceroute|wget|whois|xh|mail;
  git fetch|pull|push|send-pack|clone|ls-remote|lfs; git remote show|update|prune; git submodule add|update;
  aws|az|bq|cdk|consul|doctl|eksctl|argocd|firebase|fly|flyctl|flux|gcloud|gsutil|heroku|helm|kubectl|mc|netlify|nomad;
  now|oc|pulumi|rclone|s3cmd|serverless|sls|terraform|terragrunt|tofu|vault|vercel|wrangler|etcdctl|vsce|ovsx|twine|jsr;
  gh|glab|hub|psql|mysql|mysqladmin|mariadb|mongo|mongosh|redis-cli|cqlsh|sqlcmd|apk|dnf|yum|zypper|pacman|snap|flatpak;
  docker|podman pull|push|login|search|run|build|create; docker|podman compose up|pull|push|build|run|create;
  npm|pnpm|bun|yarn|cargo|deno|poetry|uv|pip|pip3|gem|composer|bundle|conda|brew|apt|apt-get add|ci|i|install|up*;
  npm|pnpm|bun|yarn|cargo|deno|poetry|uv|go audit|create|get|exec|login|outdated|pub*|search|view|x; rsync ** <host>
`;

export const table = { destructive, running, reading, remote };

/** Programs that run what they read. */
export const shells: ReadonlySet<string> = new Set("sh ash bash dash fish ksh mksh rbash zsh source .".split(" "));

/**
 * Options with a value, where it matters: the value is looked at, or an operand after it. What follows any other option
 * may be its value. After `$` the value is text for a shell.
 */
export const valued = `
  aws --profile --region; awk|gawk|mawk|nawk -F -v -e -f; curl -A -b -c -d -F -H -m -o -u -w -x -X --data --data-raw
  --header --json --output --request --url --user; date -d -f -r; docker|podman -H -c -f -p -e -v -w -u; env -u -C $-S
  $--split-string; exec -a; flock -w -E $-c $--command; gh|glab|hub -R --repo -X --method -f -F --raw-field --field; git
  -C -c --git-dir --work-tree --namespace -o --push-option --repo $-x $--exec --format --sort --get --get-all
  --get-regexp; ionice|chrt -c -n -p; kill -s -n; kubectl|oc|helm -n --context; nice -n; nix-shell -p $--run $--command;
  npm|npx --prefix -w -p $-c $--call; psql|mysql|mariadb -h -p -U -u -P -d -D -c -e --command --execute; script $-c
  $--command; sed|gsed -e --expression -f -l; sh|ash|bash|dash|fish|ksh|mksh|rbash|zsh -o -O +o +O --rcfile; stdbuf -i
  -o -e; su $-c; timeout|gtimeout -k -s; time|gtime -f -o; uniq -f -s -w; unzip -d -x -P; watch -n; xargs -a -d -E -I
  --replace -L -n -P -s; xxd -c -l -s
`;

/** Programs whose operands are files that they write: all of them, or the last; or that they take away. */
export const writers = {
  all: "shred touch mkdir mkfifo truncate tee sponge chmod chown chgrp".split(" "),
  last: "cp mv ln install rsync".split(" "),
  delete: "rm rmdir unlink".split(" "),
};

/** Devices that may be written to. */
export const keepsNothing = /^\/dev\/(null|zero|full|u?random|stdin|stdout|stderr|tty|fd\/\d+)$/;

/** Variables that make a harmless program do something else: run another, load a library, be found elsewhere. */
export const steeringVariable =
  /^(PATH|ENV|BASH_ENV|SHELL|EDITOR|VISUAL|BROWSER|LESS(OPEN|CLOSE)|PROMPT_COMMAND|PS4|HOME|MANOPT|GO[A-Z]+|GCONV_PATH|(LD|DYLD|GIT|XDG|CARGO|RUSTC|DOCKER|npm_config|TERMINFO|JQ|LESSKEY)(_.*)?|(.*_)?PAGER|.*_(OPTIONS|CONFIG_PATH)|(PYTHON|PERL5|RUBY).*)$/;
export const harmlessSetting = /^((.*_)?PAGER=(cat)?|GIT_(OPTIONAL_LOCKS|TERMINAL_PROMPT|CONFIG_NOSYSTEM)=.*)$/s;

const address = String.raw`(\d+|\$|\/[^/\\\ufdd0-\ufdd2]*\/)`;
const text = String.raw`([^\\\n\ufdd0-\ufdd2](?<!\k<d>)|\\.)*\k<d>`;
const substitution = String.raw`s(?<d>[/|#,:])${text}${text}[gpI\d]*`;
const edits = String.raw`(\s*(${address}(,${address})?\s*!?\s*)?([pdqPDNnG=]|${substitution})\s*(;|\n|$))*$`;

export const patterns: Readonly<Record<string, RegExp>> = {
  /** A host other than this one. */
  away: /^(?!(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[::1\])([:/]|$))/,
  /** `host:path`, `user@host:path` or a URL; a colon after a slash belongs to a file. */
  host: /^[^/]+:/,
  drops: /\b(drop\s+(database|schema|table)|truncate\s+(?=\w)|flushall|flushdb|dropdatabase)\b/i,
  /** sed: lines printed, deleted, substituted; no file and no command. And what may be more. */
  edits: new RegExp(`^${edits}`),
  more: new RegExp(`^(?!${edits})`),
  /** awk: nothing that runs a command, and no output but standard output. */
  prints: /^(?!.*\b(system|getline)\b)[^|>@\ufdd0-\ufdd2]*$/s,
  /** Settings that may make git run something. */
  steering:
    /^(?!(color\.|column\.|advice\.|user\.|log\.|i18n\.|format\.pretty|status\.|init\.defaultbranch|safe\.directory|core\.(quotepath|abbrev|autocrlf|pager=cat$|pager=$)|diff\.(renames|algorithm|context|noprefix|mnemonicprefix|wserrorhighlight)|commit\.gpgsign=false|tag\.gpgsign=false|gc\.auto=))(?=.*[.\ufdd0\ufdd2])/is,
};
