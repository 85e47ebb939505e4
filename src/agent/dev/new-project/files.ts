/** The files that `gx new` writes, and those that it leaves alone. */
export type ProjectPlan = { write: string[]; keep: string[] };

/** Files that a project may have before it has an agent, and that stay as they are. */
const ANYBODYS = [
  'package.json',
  'pyproject.toml',
  'README.md',
  '.gitignore',
  '.dockerignore',
  'Dockerfile',
  '.env.example',
];

/** Returns which files to write where the files `there` already lie, or else the ones that are in the way. */
export function planProjectFiles(
  files: string[],
  there: ReadonlySet<string>,
): ProjectPlan | { inTheWay: string[] } {
  const found = files.filter((file) => there.has(file));
  const inTheWay = found.filter((file) => !ANYBODYS.includes(file));
  if (inTheWay.length > 0) return { inTheWay };
  return { write: files.filter((file) => !there.has(file)), keep: found };
}

/** Returns the name as npm, and Python's index, allow it for a package. */
export const toPackageName = (folder: string): string =>
  folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|[._-]+$/g, '') || 'my-agent';

/**
 * A new project as it depends on its language. The files of the example are copied as they are; the folder of somebody
 * who tried the example holds more. Two are written by code, because npm leaves files of their names out of a package.
 */
export type Template = {
  example: string;
  copied: string[];
  ignored: string[];
  /** The file that names the project and its packages. */
  manifest: string;
  named(manifest: string, project: NewProject): string;
  /** Returns the commands that follow; `ownManifest`: the project keeps the manifest that it has. */
  next(manifest: string, ownManifest: boolean): string[];
};

/** `platform`: the version, file or address from which npm installs the command, where it is a package of npm. */
export type NewProject = { name: string; platform: string | undefined };

export const PLATFORM = 'gx-platform';

type PackageJson = {
  scripts?: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies?: Record<string, string>;
};

export const JAVASCRIPT: Template = {
  example: 'new',
  copied: [
    'gx.json',
    'graph.ts',
    'model.ts',
    'stand-in.ts',
    'README.md',
    'Dockerfile',
    '.env.example',
  ],
  ignored: ['node_modules/', '.gx/', '.env'],
  manifest: 'package.json',
  named: (manifest, { name, platform }) => {
    const project = { ...(JSON.parse(manifest) as PackageJson), name };
    // Without it the script finds the command where this one was found: on the PATH.
    if (platform !== undefined) project.devDependencies = { [PLATFORM]: platform };
    return `${JSON.stringify(project, null, 2)}\n`;
  },
  next: (manifest, ownManifest) => {
    const { dependencies, devDependencies = {} } = JSON.parse(manifest) as PackageJson;
    const packages = Object.entries({ ...dependencies, ...devDependencies }).map(
      ([name, range]) => `${name}@${range}`,
    );
    const start =
      PLATFORM in devDependencies
        ? [ownManifest ? `npx ${PLATFORM} dev` : 'npm run dev']
        : ['gx dev'];
    return [ownManifest ? `npm install ${packages.join(' ')}` : 'npm install', ...start];
  },
};

export const PYTHON: Template = {
  example: 'new-python',
  copied: [
    'gx.json',
    'agent.py',
    'model.py',
    'stand_in.py',
    'tests/test_agent.py',
    'README.md',
    'Dockerfile',
    '.env.example',
  ],
  ignored: ['.venv/', '__pycache__/', '*.egg-info/', '.pytest_cache/', '.gx/', '.env'],
  manifest: 'pyproject.toml',
  named: (manifest, { name }) => manifest.replace(/^name = .*$/m, `name = "${name}"`),
  next: (manifest, ownManifest) => {
    const packages = [
      ...(/^dependencies = \[(.*)\]$/m.exec(manifest)?.[1] ?? '').matchAll(/"([^"]+)"/g),
    ].map(([, one]) => `'${one}'`);
    const what = ownManifest ? packages.join(' ') : "-e '.[dev]'";
    return [`python3 -m venv .venv && .venv/bin/pip install ${what}`, 'gx dev'];
  },
};

/** Returns the next steps, as `gx new` prints them. `folder` is written as the user wrote it. */
export function formatNextSteps({
  folder,
  plan,
  commands,
}: {
  folder: string;
  plan: ProjectPlan;
  commands: string[];
}): string {
  const isHere = folder === '.';
  const kept = plan.keep.length === 0 ? '' : `Kept as they were: ${plan.keep.join(', ')}\n`;
  const enter = isHere ? [] : [`cd ${/\s/.test(folder) ? JSON.stringify(folder) : folder}`];
  return `Written to ${isHere ? 'this folder' : folder}: ${plan.write.join(', ')}
${kept}
Next
${[...enter, ...commands].map((command) => `  ${command}`).join('\n')}
`;
}
