import { join } from 'node:path';
import type { DebianPackage, GoBuild, Program } from './part.ts';

/* The origins of a cluster's parts, in few words for the list of parts. */

/**
 * Returns a build of the module of that name below `parts/`. The name is the build's own unless another one is given.
 * Without sources, its programs are those of other modules alone.
 */
export function makeGoBuild({
  module,
  ...build
}: Omit<GoBuild, 'kind' | 'module' | 'sources'> &
  Partial<Pick<GoBuild, 'module' | 'sources'>>): GoBuild {
  return {
    kind: 'go',
    module: join(import.meta.dirname, 'parts', module ?? build.name),
    sources: ['go.mod', 'go.sum'],
    ...build,
  };
}

/** Returns a build whose one program is that of our own module. It has the name of the build. */
export const makeOwnGoBuild = (name: string, version: string): GoBuild =>
  makeGoBuild({
    name,
    version,
    sources: ['go.mod', 'go.sum', '.'],
    flags: [buildLinkerFlags([])],
    programs: [makeProgram(name, '.')],
  });

/** Returns a build whose one program is this package of another module. It has the name of the build. */
export const makeGoProgram = (name: string, version: string, from: string): GoBuild =>
  makeGoBuild({
    name,
    version,
    flags: [buildLinkerFlags([])],
    programs: [makeProgram(name, from)],
  });

/** Returns a package of Debian, with the commands that are used of it: that of its name, unless others are given. */
export function makeDebianPackage(
  name: string,
  found: Partial<Pick<DebianPackage, 'commands' | 'folder' | 'files'>> = {},
): DebianPackage {
  return { kind: 'debian', package: name, commands: [name], ...found };
}

/** Returns a program that is compiled from this package of its module. */
export function makeProgram(file: string, from: string): Program {
  return { file, package: from, links: [] };
}

/** Returns flags that omit debug information and set these variables of the program. */
export function buildLinkerFlags(variables: readonly string[]): string {
  return `-ldflags=${['-s', '-w', ...variables.map((variable) => `-X ${variable}`)].join(' ')}`;
}

/** Returns flags with which Kubernetes' programs know their version. Without them they call themselves v0.0.0. */
export function buildVersionFlags(version: string): string {
  const [major, minor] = version.slice(1).split('.');
  const facts = [`gitVersion=${version}`, `gitMajor=${major}`, `gitMinor=${minor}`];
  const packages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  return buildLinkerFlags(packages.flatMap((at) => facts.map((fact) => `${at}.${fact}`)));
}
