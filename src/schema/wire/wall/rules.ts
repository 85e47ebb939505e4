/*
 * Two walls stand in the server: users' graphs (graphs.ts) and the user's own code (user-code.ts) run behind them.
 * Either is crossed by messages alone, so the other side may be a thread, a process, or written in another language.
 *
 * Form. Each message is one JSON object whose `kind` names it. It holds null, booleans, finite numbers, texts, lists
 * and plain objects; a field that is undefined counts as absent. At the places that the schemas call attachments
 * (forms.ts), it holds bytes or JSON text. Between threads these stand there as they are. Between processes the bytes
 * follow the JSON of their message in the order of their places, where the JSON has their length; JSON text goes as
 * UTF-8. Messages of one side arrive in the order in which they were sent.
 *
 * Versions. `start` and `ready` name the version of their sender, and no other message does. Who hears another major
 * version refuses: the server ends the other side, and the other side answers `broken`. A minor version adds kinds and
 * fields. Either side ignores a message whose kind it does not know, and a field that it does not know.
 */

export const WALL_VERSION = '1.0';

/** Milliseconds between two signs of life of a graph thread. */
export const BEAT_MILLISECONDS = 500;

const parseMajor = (version: string): string => version.split('.')[0]!;

/** Returns why this side can't work with `who`, which names its version; undefined if it can. */
export function checkProtocolVersion(who: string, version: string): string | undefined {
  if (parseMajor(version) === parseMajor(WALL_VERSION)) return undefined;
  return `${who} speaks version ${version} of the protocol, and this side speaks ${WALL_VERSION}: the first numbers must be equal.`;
}
