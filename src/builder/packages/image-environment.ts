/** The folder of agents in the base image. */
export const AGENT = '/agent';
/** The results that the agent server finds ready, in the root of the repository. */
export const BUILD_FOLDER = '.gx-build';

/** The folders of programs of the base image for Python, behind those of the project's environment. */
const PROGRAMS = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const VENV_HERE = `${AGENT}/.venv`;

const buildAgentPath = (name: string): string => (name === '' ? AGENT : `${AGENT}/${name}`);

/** Returns the additions to the base's configuration. */
export const buildImageSettings = ({
  folder,
  configFile,
  python,
}: {
  /** Both from the root of the repository. */ configFile: string;
  folder: string;
  python: boolean;
}): { workdir: string; env: Record<string, string> } => ({
  workdir: buildAgentPath(folder),
  env: {
    GX_CONFIG: buildAgentPath(configFile),
    GX_BUILD_FOLDER: buildAgentPath(BUILD_FOLDER),
    ...(python && {
      GX_PYTHON: `${VENV_HERE}/bin/python`,
      VIRTUAL_ENV: VENV_HERE,
      UV_PROJECT_ENVIRONMENT: VENV_HERE,
      PATH: `${VENV_HERE}/bin:${PROGRAMS}`,
    }),
  },
});
