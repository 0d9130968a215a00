/*
 * Programs that are known by their subcommands. A row is the program and then its operands in order: `a|b` is either,
 * `x*` any that begins so, `**` any number of operands, `-x` an option that is present somewhere. The first row that
 * matches decides, from the table with the worst effect to the one with the least.
 */

/** Commands whose effect no snapshot can restore. */
export const destroying = `
  sudo|doas|su|sudoedit|pkexec|runuser|gosu|su-exec
  shutdown|reboot|halt|poweroff
  init|telinit 0|6
  systemctl poweroff|reboot|halt|kexec
  mkfs*|mke2fs|mkswap|wipefs|fdisk|sfdisk|cfdisk|gdisk|sgdisk|parted|blkdiscard
  cryptsetup luksFormat|luksErase|erase
  lvremove|vgremove|pvremove
  zfs|zpool destroy
  btrfs subvolume delete
  diskutil erase*
  crontab -r
  userdel|groupdel

  npm|pnpm|bun|yarn|cargo|deno|jsr|uv|poetry|flit|hatch|pdm|rye publish
  npm|pnpm unpublish
  npm|pnpm dist-tag rm
  yarn npm publish
  cargo|gem yank
  gem push
  twine upload
  mvn deploy|release:perform
  gradle|gradlew publish*|upload*
  dotnet nuget push|delete
  nuget push|delete
  mix hex.publish
  pod trunk push|delete
  luarocks|cabal upload
  lerna|changeset|vsce|ovsx publish|unpublish
  semantic-release|release-it
  goreleaser release

  gh * delete*
  gh api -X=DELETE|--method=DELETE
  glab * delete
  hub release delete

  terraform|tofu|terragrunt|pulumi|cdk|vagrant|eksctl destroy
  terraform|tofu apply -destroy|--destroy
  terraform|tofu workspace delete
  terraform|tofu state rm
  serverless|sls remove
  kubectl|oc delete|drain
  kubectl|oc replace --force
  helm uninstall|delete|del|un
  argocd app delete
  flux uninstall|delete
  nomad job stop -purge
  consul kv delete
  vault ** delete|destroy
  etcdctl del

  aws s3 rm|rb
  aws s3 sync|mv --delete
  aws ** delete*|terminate*|deregister*|purge*|destroy*
  gcloud ** delete|purge
  gsutil ** rm|rb
  bq rm
  az ** delete*|purge
  doctl ** delete|rm
  heroku *destroy|*reset
  fly|flyctl ** destroy
  vercel|now rm|remove
  netlify *delete
  wrangler delete
  wrangler ** delete
  firebase *delete|*disable
  rclone delete|deletefile|purge|cleanup|sync
  s3cmd del|rm|rb
  mc rm|rb

  docker|podman system prune
  docker|podman volume rm|remove|prune
  docker|podman compose down -v|--volumes
  docker-compose|podman-compose down -v|--volumes

  dropdb|dropuser
  mysqladmin drop
`;

/** Only looking, at what is on this machine. */
export const inspecting = `
  npm|pnpm|yarn ls|list|root|prefix|bin|explain|why
  pip|pip3 list|show|freeze|check
  cargo tree|metadata|locate-project
  go version|env
  docker|podman ps|images|logs|inspect|version|info|top|port|diff|history
  docker|podman container|image|volume|network ls|list|inspect
  docker|podman compose ps|logs|ls|images|top|version|config
  docker-compose ps|logs|images|top|version|config
  systemctl status|show|cat|is-active|is-enabled|is-failed|list-*
  dpkg -l|-L|-s|-S|--list|--listfiles|--status|--search
  apt list|show|search|policy
  apt-cache show|search|policy|depends|rdepends|madison
  rpm -q|-qa|-qi|-ql|-qf|--query
  brew list|info|config|--prefix|leaves|deps
  crontab -l
`;

/** Asking another machine for something, or telling it something. */
export const contacting = `
  aria2c|axel|dig|drill|ftp|host|http|https|lftp|mtr|nc|ncat|netcat|nmap|nslookup|ping|ping6|rdate|sftp|socat|telnet
  tracepath|traceroute|whois|wscat|xh|mail|sendmail|mosh

  aws|az|bq|cdk|consul|doctl|eksctl|argocd|firebase|fly|flyctl|flux|gcloud|gh|glab|gsutil|heroku|helm|hub
  kubectl|mc|netlify|nomad|now
  oc|pulumi|rclone|s3cmd|serverless|sls|terraform|terragrunt|tofu|vault|vercel|wrangler|etcdctl
  psql|pg_dump|pg_restore|createdb|mysql|mysqladmin|mysqldump|mariadb|mongo|mongosh|mongodump|redis-cli|cqlsh|sqlcmd

  npm|pnpm|bun|yarn install|i|ci|add|update|up|upgrade|audit|outdated|view|info|search|login|logout|whoami
  npm|pnpm|bun|yarn dlx|exec|x|create|init
  npm|pnpm|bun|yarn deprecate|owner|access|token|dist-tag|ping|star|link|fund|import|dedupe
  corepack
  pip|pip3|pip3.* install|download|wheel|index|search
  uv add|sync|lock|pip|tool|python
  poetry add|install|update|lock
  pdm|rye add|install|update|lock|sync
  conda|mamba|micromamba install|update|create|search
  cargo install|add|update|fetch|search|login|owner
  go get|install|mod
  gem install|update|fetch|search
  bundle install|update|add|outdated
  composer install|update|require
  mix deps.get|hex.*
  dotnet restore|add
  nuget install|restore
  mvn dependency:*
  apt|apt-get|aptitude update|install|upgrade|dist-upgrade|full-upgrade|build-dep|download|source
  apk|dnf|yum|zypper|pacman|snap|flatpak|port
  brew install|update|upgrade|tap|search|fetch|doctor|outdated
  rustup|nvm|asdf|mise|volta|fnm install|update|self
  docker|podman pull|push|login|logout|search|run|build|buildx|create
  docker|podman compose up|pull|push|build|run|create
  docker-compose up|pull|push|build|run|create
  vsce|ovsx|twine|jsr
`;

/** Options with a value that stand before the operands which the rows are about, for each program. */
export const valuedOptions: Readonly<Record<string, string>> = {
  argocd: "--server --grpc-web-root-path --auth-token",
  aws: "--profile --region --endpoint-url --output --query --color --ca-bundle",
  az: "--subscription --resource-group -g --output -o --query",
  bun: "--cwd",
  cargo: "-p --package --manifest-path --registry --index -Z --config --color --target-dir",
  docker: "-H --host --context -c --config -l --log-level -f --file -p --project-name --profile --env-file",
  "docker-compose": "-f --file -p --project-name --profile --env-file",
  doctl: "-t --access-token --context -o --output",
  fly: "-a --app -c --config",
  flyctl: "-a --app -c --config",
  gcloud: "--project --account --configuration --format --zone --region",
  gem: "-s --source --host -k --key -p",
  gh: "-R --repo --hostname -X --method -f -F -H --jq -q --input",
  glab: "-R --repo",
  gsutil: "-o -h -u",
  helm: "-n --namespace --kube-context --kubeconfig",
  heroku: "-a --app",
  kubectl: "-n --namespace --context --cluster --kubeconfig -s --server --user --token --as",
  mvn: "-f --file -P -pl --projects",
  mysql: "-h -P -u -p -e --execute -D --database",
  npm: "--prefix -C --registry -w --workspace --tag --otp --access --loglevel",
  oc: "-n --namespace --context --cluster --kubeconfig --token",
  podman: "-c --connection --url --log-level -f --file -p --project-name",
  pnpm: "--filter -F -C --dir --registry --tag",
  psql: "-h -p -U -d -c -f -v --host --port --username --dbname --command --file",
  pulumi: "-C --cwd -s --stack",
  rclone: "--config --filter --include --exclude",
  s3cmd: "-c --config",
  systemctl: "-H --host -M --machine",
  uv: "--directory --project --config-file -p --python",
  yarn: "--cwd",
};
