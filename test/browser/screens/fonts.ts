import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installed } from '../packages.ts';

/* The fonts of all pictures: the first choice of the page, whatever the machine has. */

const FONTS = [
  { family: 'Inter', package: '@fontsource-variable/inter', file: 'inter' },
  {
    family: 'JetBrains Mono',
    package: '@fontsource-variable/jetbrains-mono',
    file: 'jetbrains-mono',
  },
];
const VERSION = '5.3.0';

/**
 * Returns a script that gives a page the fonts Inter and JetBrains Mono. The policy of the page allows no font from
 * anywhere, and a script's own bytes are from nowhere.
 */
export async function readFontScript(): Promise<string> {
  const folder = await installed(
    Object.fromEntries(FONTS.map(({ package: name }) => [name, VERSION])),
  );
  const scripts = FONTS.map(async ({ family, package: name, file }) => {
    const path = join(folder, 'node_modules', name, 'files', `${file}-latin-wght-normal.woff2`);
    const bytes = (await readFile(path)).toString('base64');
    return `document.fonts.add(new FontFace(${JSON.stringify(family)}, Uint8Array.from(atob('${bytes}'), (one) => one.charCodeAt(0)), { weight: '100 900' }));`;
  });
  return `(() => { ${(await Promise.all(scripts)).join('\n')} })();`;
}
