import { folded } from "../files/path.ts";
import { toolConfigIn } from "../sandbox/policy/toolconfig.ts";

/** A changed file that another program will run or obey, without being told to. */
export type ExecutableChange = { path: string; kind: (typeof executableKinds)[number] };

export const executableKinds = ["config", "hook", "workflow"] as const;

/** Files of CI services, in whichever directory of the project a repository begins. */
const workflows: readonly RegExp[] = [
  /\/\.(github|gitea|forgejo)\/(workflows|actions)\//,
  /\.gitlab-ci\.ya?ml$/,
  /\/\.gitlab\/ci\//,
  /\/\.(circleci|buildkite|woodpecker|semaphore|teamcity|tekton|builds|azure-pipelines|azuredevops)\//,
  /\/\.(travis|drone|woodpecker|cirrus|appveyor|build)\.ya?ml$/,
  /\/(appveyor|azure-pipelines|bitbucket-pipelines|buildspec|cloudbuild|codefresh)[\w.-]*\.ya?ml$/,
  /\/jenkinsfile[\w.-]*$/,
];

/** Files of programs that install git hooks; those that git runs already are protected. */
const hooks: readonly RegExp[] = [
  /\/\.(githooks|github\/hooks)\//,
  /\/\.pre-commit-(config|hooks)\.ya?ml$/,
  /\/\.?lefthook[\w.-]*\.(ya?ml|toml|json)$/,
];

/** The ones of these files, by paths relative to the project. */
export function executableChanges(paths: Iterable<string>): ExecutableChange[] {
  return [...new Set(paths)].sort().flatMap((path) => {
    const kind = kindOf(path);
    return kind === undefined ? [] : [{ path, kind }];
  });
}

function kindOf(path: string): ExecutableChange["kind"] | undefined {
  if (toolConfigIn(path) !== undefined) return "config";
  const plain = `/${folded(path)}`;
  if (plain.includes("/node_modules/")) return undefined;
  if (workflows.some((pattern) => pattern.test(plain))) return "workflow";
  return hooks.some((pattern) => pattern.test(plain)) ? "hook" : undefined;
}
