import type { NodePart } from './native/node-part.ts';

/** A part of a local cluster, or of what is tried out on it. The part list holds one entry for each. */
export type Part = {
  /** What it is, and what it is for. */
  what: string;
  /** Every native node has those of `node`. The others are asked for by the names of their tools. */
  for: 'node' | 'kind' | 'images' | 'tests';
  from: GoBuild | DebianPackage;
  /** What the native node runs of it. A part without is only there to be called. */
  runs?: readonly NodePart[];
};

/** Programs that are compiled from a Go module, and kept in the cache. */
export type GoBuild = {
  kind: 'go';
  name: string;
  version: string;
  /** The folder of the Go module. */
  module: string;
  /** What the cache's key is computed from, relative to the module; a folder counts with its Go files. */
  sources: readonly string[];
  flags: readonly string[];
  programs: readonly Program[];
};

/** One program to compile; `links` are further names that it answers to. */
export type Program = { file: string; package: string; links: readonly string[] };

/** Commands that a Debian package brings; on other systems they have to be there. */
export type DebianPackage = {
  kind: 'debian';
  package: string;
  commands: readonly string[];
  /** Where the commands are, if not on the PATH. */
  folder?: string;
};

/** The tools that a part brings. */
export const toolsOf = ({ from }: Part): readonly string[] =>
  from.kind === 'debian' ? from.commands : from.programs.flatMap(({ file, links }) => [file, ...links]);
