/* Where gx.json finds code: `./folder/file.ts:export`, `./folder/file.py:attribute` or `package.module:attribute`. */

export const LANGUAGES = ['javascript', 'python'] as const;
export type Language = (typeof LANGUAGES)[number];

/** `place` is a file, or for Python also the name of a module. `name` is the export, or the attribute. */
export type CodePlace = { language: Language; place: string; isModule: boolean; name: string };

/** Dotted names of Python: at least two, because a single one may be a file of JavaScript without its ending. */
const MODULE = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$/;
const JAVASCRIPT_FILE = /\.[cm]?[jt]sx?$/;
const PYTHON_FILE = /\.py$/;

/** Returns the parts of a reference to code. Its language follows from the place alone. */
export function codePlace(reference: string): CodePlace {
  const colon = reference.lastIndexOf(':');
  const place = reference.slice(0, colon);
  const isModule = MODULE.test(place) && !JAVASCRIPT_FILE.test(place) && !PYTHON_FILE.test(place);
  return { language: isModule || PYTHON_FILE.test(place) ? 'python' : 'javascript', place, isModule, name: reference.slice(colon + 1) };
}

/** Returns the language of a reference that may lack the name of an export. */
export const languageOf = (reference: string): Language => (PYTHON_FILE.test(reference) ? 'python' : codePlace(reference).language);
