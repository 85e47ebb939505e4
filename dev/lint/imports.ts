import { dirname, join, relative, resolve } from 'node:path';
import type { Context, Node } from './rule.ts';

export type Import = {
  node: Node;
  /** A path from the repository's root for a file of ours, else the name of a package: `src/errors.ts`, `node:fs`. */
  target: string;
  /** True if only types are imported, which do not exist at run time. */
  isType: boolean;
  names: string[];
};

/** The linted file as a path from the repository's root. */
export const getLintedFile = ({ filename, cwd }: Context): string =>
  relative(cwd, filename).replaceAll('\\', '/');

/** True for a file of the folder, for the file itself, and for a module of the package. */
export const isWithin = (target: string, place: string): boolean =>
  target === place || target.startsWith(`${place}/`);

/** Visits each import and re-export of a file, the dynamic ones and those inside types among them. */
export function visitImports(
  context: Context,
  visit: (found: Import) => void,
): Record<string, (node: Node) => void> {
  const visitSource = (node: Node): void => {
    const source = node.source as { value?: unknown } | null | undefined;
    if (typeof source?.value !== 'string') return;
    const specifiers = (node.specifiers ?? []) as Node[];
    const isType =
      node.type === 'TSImportType' ||
      (node.importKind ?? node.exportKind) === 'type' ||
      (specifiers.length > 0 &&
        specifiers.every((one) => (one.importKind ?? one.exportKind) === 'type'));
    const names = specifiers.map(
      ({ imported }) => (imported as { name?: string } | undefined)?.name ?? '',
    );
    visit({ node, target: resolveImport(context, source.value), isType, names });
  };
  return {
    ImportDeclaration: visitSource,
    ExportNamedDeclaration: visitSource,
    ExportAllDeclaration: visitSource,
    ImportExpression: visitSource,
    TSImportType: visitSource,
  };
}

function resolveImport({ filename, cwd }: Context, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier;
  return relative(cwd, resolve(join(dirname(filename), specifier))).replaceAll('\\', '/');
}
