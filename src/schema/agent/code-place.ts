/*
 * Where gx.json finds code: `./folder/file.ts:export`, `./folder/file.py:attribute`, `package.module:attribute` or
 * `module:attribute`.
 */

export const LANGUAGES = ['javascript', 'python'] as const;
export type Language = (typeof LANGUAGES)[number];

/** `place` is a file, or for Python also the name of a module. `name` is the export, or the attribute. */
export type CodePlace = { language: Language; place: string; isModule: boolean; name: string };

/** Names of Python. The reader of the file writes `./` before a name that means a file of JavaScript. */
const MODULE = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;
const JAVASCRIPT_FILE = /\.[cm]?[jt]sx?$/;
const PYTHON_FILE = /\.py$/;

/** Returns the parts of a reference to code. Its language follows from the place alone. */
export function parseCodePlace(reference: string): CodePlace {
  const colon = reference.lastIndexOf(':');
  const place = reference.slice(0, colon);
  const isModule = MODULE.test(place) && !JAVASCRIPT_FILE.test(place) && !PYTHON_FILE.test(place);
  return {
    language: isModule || PYTHON_FILE.test(place) ? 'python' : 'javascript',
    place,
    isModule,
    name: reference.slice(colon + 1),
  };
}

/** Returns the language of a reference that may lack the name of an export. */
export const decideLanguage = (reference: string): Language =>
  PYTHON_FILE.test(reference) ? 'python' : parseCodePlace(reference).language;

/** Returns the name before the colon without a dot or a slash: a module of Python, or a file without its ending. */
export const parseBareName = (reference: string): string | undefined =>
  /^([A-Za-z_]\w*):[^/\\]+$/.exec(reference)?.[1];

/** A path begins so, or has the ending of a file. */
const PATH = /^[./]|\.([cm]?[jt]sx?|py):[^:]+$/;

/**
 * Returns whether `store.index.embed` is a place in code. Everything else is `provider:model`, whose model may have a
 * colon.
 */
export const isEmbedCode = (embed: string): boolean =>
  PATH.test(embed) || (parseBareName(embed) === undefined && parseCodePlace(embed).isModule);
