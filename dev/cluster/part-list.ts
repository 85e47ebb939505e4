import { join } from 'node:path';

export type PartName = 'kube' | 'coredns' | 'images' | 'containerd' | 'kind' | 'verdict' | 'kwok';

/** One program to compile; `links` are further names it answers to. */
export type Program = { file: string; package: string; links: readonly string[] };

export type Part = {
  name: PartName;
  version: string;
  module: string;
  /** What the part's cache key is computed from, relative to the module; folders count with their Go files. */
  sources: readonly string[];
  flags: readonly string[];
  programs: readonly Program[];
};

const moduleFolder = (name: string) => join(import.meta.dirname, 'parts', name);

const kubernetesVersion = 'v1.36.3';
const containerdVersion = 'v2.4.2';

const stamped = (values: Record<string, string>) =>
  ['-s', '-w', ...Object.entries(values).map(([name, value]) => `-X ${name}=${value}`)].join(' ');

// Without these the API server calls itself v0.0.0.
const kubernetesStamp = stamped(
  Object.fromEntries(
    ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((at) => [
      [`${at}.gitVersion`, kubernetesVersion],
      [`${at}.gitMajor`, '1'],
      [`${at}.gitMinor`, '36'],
    ]),
  ),
);

const containerdStamp = stamped({
  'github.com/containerd/containerd/v2/version.Version': containerdVersion,
});

const containerdProgram = (file: string): Program => ({
  file,
  package: `github.com/containerd/containerd/v2/cmd/${file}`,
  links: [],
});

export const parts: Record<PartName, Part> = {
  kube: {
    name: 'kube',
    version: kubernetesVersion,
    module: moduleFolder('kube'),
    sources: ['go.mod', 'go.sum', '.', 'pki', 'volumes'],
    flags: [`-ldflags=${kubernetesStamp}`],
    programs: [
      {
        file: 'kube',
        package: '.',
        links: [
          'etcd',
          'kube-apiserver',
          'kube-controller-manager',
          'kube-scheduler',
          'kubelet',
          'kube-proxy',
          'kubectl',
          'helm',
          'cluster-pki',
          'volume-provisioner',
        ],
      },
    ],
  },
  coredns: {
    name: 'coredns',
    version: 'v1.14.5',
    module: moduleFolder('kube'),
    sources: ['go.mod', 'go.sum', 'coredns'],
    flags: ['-ldflags=-s -w'],
    programs: [{ file: 'coredns', package: './coredns', links: [] }],
  },
  images: {
    name: 'images',
    version: '1',
    module: moduleFolder('kube'),
    sources: ['pause', 'ask'],
    flags: ['-ldflags=-s -w'],
    programs: ['pause', 'ask'].map((file) => ({ file, package: `./${file}`, links: [] })),
  },
  containerd: {
    name: 'containerd',
    version: containerdVersion,
    module: moduleFolder('containerd'),
    sources: ['go.mod', 'go.sum'],
    flags: ['-tags=no_btrfs,no_devmapper,no_zfs', `-ldflags=${containerdStamp}`],
    programs: [containerdProgram('containerd'), containerdProgram('containerd-shim-runc-v2'), containerdProgram('ctr')],
  },
  kind: {
    name: 'kind',
    version: 'v0.33.0',
    module: moduleFolder('kind'),
    sources: ['go.mod', 'go.sum'],
    flags: ['-ldflags=-s -w'],
    programs: [{ file: 'kind', package: 'sigs.k8s.io/kind', links: [] }],
  },
  // For tests alone: what kstatus and Argo CD make of our statuses.
  verdict: {
    name: 'verdict',
    version: 'v0.37.2',
    module: moduleFolder('verdict'),
    sources: ['go.mod', 'go.sum', '.'],
    flags: ['-ldflags=-s -w'],
    programs: [{ file: 'verdict', package: '.', links: [] }],
  },
  // For benchmarks alone: makes pods ready without running them.
  kwok: {
    name: 'kwok',
    version: 'v0.8.0',
    module: moduleFolder('kwok'),
    sources: ['go.mod', 'go.sum'],
    flags: ['-ldflags=-s -w'],
    programs: [{ file: 'kwok', package: 'sigs.k8s.io/kwok/cmd/kwok', links: [] }],
  },
};

export const partNames = Object.keys(parts) as PartName[];

export const nativeParts: readonly PartName[] = ['kube', 'containerd', 'coredns', 'images'];

export const toolsOf = (part: Part): string[] => part.programs.flatMap((program) => [program.file, ...program.links]);

export const partOf = (tool: string): Part | undefined => Object.values(parts).find((part) => toolsOf(part).includes(tool));
