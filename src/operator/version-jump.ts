/** The versions that an operator finds when it starts. */
type FoundVersions = {
  /** Of this operator. */
  own: string;
  /** Of the custom resource definitions, where they name one. */
  definitions: string | undefined;
  /** Of the operator that led here last. Undefined if none did. */
  former: string | undefined;
};

/** The first release. Its operator and its definitions do not say which version they are. */
export const FIRST_VERSION = '0.1.0';

type Line = { major: number; minor: number };

/** Returns why an operator must not start with these versions, as sentences; undefined if it may. */
export function unsupportedJump({ own, definitions, former }: FoundVersions): string | undefined {
  const [mine, defined, led] = [lineOf(own), lineOf(definitions), lineOf(former)];
  if (mine === undefined) return undefined;
  if (defined !== undefined && isNewer(defined, mine)) {
    return `operator: the custom resource definitions are of version ${definitions}, and this operator is of ${own}. It does not know all of their fields: install version ${lineText(defined)} or newer.`;
  }
  if (led !== undefined && isFar(led, mine)) {
    return `operator: the operator that led here last is of version ${former}, and this one is of ${own}. An upgrade goes one minor version at a time: install ${lineText({ ...led, minor: led.minor + 1 })} first.`;
  }
  return undefined;
}

/** Patches of one minor version go together in any order, so only these two numbers count. */
function lineOf(version: string | undefined): Line | undefined {
  const [, major, minor] = /^v?(\d+)\.(\d+)\.\d+/.exec(version ?? '') ?? [];
  return major === undefined || minor === undefined ? undefined : { major: Number(major), minor: Number(minor) };
}

const isNewer = (a: Line, b: Line): boolean => a.major > b.major || (a.major === b.major && a.minor > b.minor);

/** Nobody knows which minor version was the last of its major one, so a step between major versions is not judged. */
const isFar = (from: Line, to: Line): boolean => from.major === to.major && to.minor - from.minor > 1;

const lineText = ({ major, minor }: Line): string => `${major}.${minor}`;
