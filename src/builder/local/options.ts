import { parseCommandOptions } from '../../commands.ts';
import { StartError } from '../../errors.ts';

export type LocalOptions = {
  config: string;
  tag: string;
  /** The base image; by default the platform's own of the graphs' language. */
  base: { javascript: string; python: string };
  /** Where the image goes: an engine of this machine, a folder, or the registry that the tag names. */
  to: { engine: 'docker' | 'buildah' } | { folder: string } | 'registry' | undefined;
  installCommand?: string;
  buildCommand?: string;
  insecure: boolean;
};

/** Images of an engine of this machine. The names have no registry, where a stranger could have put other ones. */
const OF_ENGINE = { javascript: 'gx-agent-server:latest', python: 'gx-agent-server-python:latest' };

export const LOCAL_HELP = `build-agent: makes the image of an agent on this machine, as a deployment of source git is built

Usage: npm run build-agent -- --config path/gx.json --tag name:version [options]

  --config FILE            gx.json or langgraph.json of the agent
  --tag NAME               the image's name
  --base NAME              the base image of agents, your own gx-agent-server or gx-agent-server-python; an engine has it as
                           ${OF_ENGINE.javascript} or ${OF_ENGINE.python}, and a registry under a name that you give
  --engine docker|buildah  loads the image there; by default the first of them that answers
  --output FOLDER          writes an OCI image layout instead; the base comes from its registry
  --push                   pushes to the registry of the tag instead, with the config.json of DOCKER_CONFIG or ~/.docker
  --install-command TEXT   replaces the package manager's command; it runs in the root of the repository
  --build-command TEXT     builds the project; it runs in the folder of gx.json
  --insecure               asks the registry of the tag by plain http

The context is the git repository around gx.json, without files that git ignores. Without one it is the folder of the lock file.
A gx.json with "dockerfile", "dockerfile_lines" or a base image of its own is built by Docker or buildah, whichever of them answers.
Packages with native code are installed for this machine: build on Linux with the processor of your nodes.
`;

const OPTIONS = {
  config: { type: 'string' },
  tag: { type: 'string' },
  base: { type: 'string' },
  engine: { type: 'string' },
  output: { type: 'string' },
  push: { type: 'boolean' },
  'install-command': { type: 'string' },
  'build-command': { type: 'string' },
  insecure: { type: 'boolean' },
} as const;

/** Reads the arguments. Throws a `StartError` that names the one that is wrong or missing. */
export function parseLocalOptions(args: string[]): LocalOptions {
  const given = parseCommandOptions(args, OPTIONS, { name: 'build-agent', hint: 'See --help.' });
  const { config, tag, base: named, insecure = false } = given;
  if (config === undefined) throw new StartError('build-agent: --config is missing. See --help.');
  if (tag === undefined) throw new StartError('build-agent: --tag is missing. See --help.');
  const to = chooseDestination(given);
  if (named === undefined && to !== undefined && !(to !== 'registry' && 'engine' in to))
    throw new StartError(
      'build-agent: --base is missing: name your own image of gx-agent-server in a registry, such as registry.example.com/gx/gx-agent-server:0.1.0.',
    );
  const base = named === undefined ? OF_ENGINE : { javascript: named, python: named };
  const [installCommand, buildCommand] = [given['install-command'], given['build-command']];
  const commands = {
    ...(installCommand && { installCommand }),
    ...(buildCommand && { buildCommand }),
  };
  return { config, tag, base, to, insecure, ...commands };
}

function chooseDestination({
  engine,
  output,
  push,
}: {
  engine?: string;
  output?: string;
  push?: boolean;
}): LocalOptions['to'] {
  if ([engine, output, push].filter((option) => option !== undefined).length > 1)
    throw new StartError('build-agent: give one of --engine, --output and --push.');
  if (engine !== undefined && engine !== 'docker' && engine !== 'buildah')
    throw new StartError(`build-agent: --engine is docker or buildah, not "${engine}".`);
  if (engine !== undefined) return { engine };
  if (output !== undefined) return { folder: output };
  return push === true ? 'registry' : undefined;
}
