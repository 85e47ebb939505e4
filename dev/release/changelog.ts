import { DevError } from '../errors.ts';

/** A change as Artifact Hub shows it: the heading that it stands below, and its words. */
export type Change = { kind: string; description: string };

/** The part of CHANGELOG.md about one version. */
export type VersionNotes = { commit: string; text: string; changes: Change[] };

/** The kinds that Artifact Hub knows, which are the headings of keepachangelog.com. */
const KINDS = ['added', 'changed', 'deprecated', 'removed', 'fixed', 'security'];

/** Returns the part of a changelog about this version. Throws if there is none, or it names no commit. */
export function parseVersionNotes(changelog: string, version: string): VersionNotes {
  const text = changelog
    .split(/^(?=## )/m)
    .find((part) => parseHeading(part) === version)
    ?.trim();
  if (text === undefined)
    throw new DevError(
      `CHANGELOG.md does not name version ${version}: add "## ${version}" with its changes.`,
    );
  const commit = /^Commit: ([0-9a-f]{12,40})$/m.exec(text)?.[1];
  if (commit === undefined)
    throw new DevError(
      `CHANGELOG.md names no commit of version ${version}: add "Commit: " and at least 12 digits of its hash.`,
    );
  return { commit, text: `${text}\n`, changes: parseChanges(text) };
}

const parseHeading = (part: string): string | undefined => /^## (\S+)/.exec(part)?.[1];

function parseChanges(text: string): Change[] {
  return text.split(/^### /m).flatMap((part) => {
    const kind = part.slice(0, part.indexOf('\n')).trim().toLowerCase();
    if (!KINDS.includes(kind)) return [];
    const items = part.matchAll(/^- (.+(?:\n {2}.+)*)/gm);
    return [...items].map(([, words = '']) => ({
      kind,
      description: words.replaceAll(/\s+/g, ' '),
    }));
  });
}
