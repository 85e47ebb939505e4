/** The files that `gx new` writes, and those that it leaves alone. */
export type ProjectPlan = { write: string[]; keep: string[] };

/** Files that a project may have before it has an agent, and that stay as they are. */
const ANYBODYS = ['package.json', 'README.md', '.gitignore', '.dockerignore', 'Dockerfile', '.env.example'];

/** Returns which files to write where the files `there` already lie, or else the ones that are in the way. */
export function planFor(files: string[], there: ReadonlySet<string>): ProjectPlan | { inTheWay: string[] } {
  const found = files.filter((file) => there.has(file));
  const inTheWay = found.filter((file) => !ANYBODYS.includes(file));
  if (inTheWay.length > 0) return { inTheWay };
  return { write: files.filter((file) => !there.has(file)), keep: found };
}

/** These files are written by code, because npm leaves files of these names out when it packs a package. */
export const IGNORED = {
  '.gitignore': 'node_modules/\n.gx/\n.env\n',
  '.dockerignore': 'node_modules/\n.gx/\n.env\n.git/\n',
} as const;

/** Returns the name as npm allows it for a package. */
export const packageNameOf = (folder: string): string =>
  folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[._-]+|-+$/g, '') || 'my-agent';

type Done = { folder: string; plan: ProjectPlan; packages: string[] };

/** Returns the next steps, as `gx new` prints them. `folder` is written as the user wrote it. */
export function nextSteps({ folder, plan, packages }: Done): string {
  const isHere = folder === '.';
  const kept = plan.keep.length === 0 ? '' : `Kept as they were: ${plan.keep.join(', ')}\n`;
  const install = plan.keep.includes('package.json') ? `npm install ${packages.join(' ')}` : 'npm install';
  return `Written to ${isHere ? 'this folder' : folder}: ${plan.write.join(', ')}
${kept}
Next
${isHere ? '' : `  cd ${/\s/.test(folder) ? JSON.stringify(folder) : folder}\n`}  ${install}
  npx gx dev
`;
}
