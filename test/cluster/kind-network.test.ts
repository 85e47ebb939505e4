import { expect, test } from 'vitest';
import {
  buildKindConfiguration,
  needsPorts,
  chooseKindPorts,
} from '../../dev/cluster/kind-network.ts';

const linux = {
  platform: 'linux',
  operatingSystem: 'Debian GNU/Linux 12 (bookworm)',
  securityOptions: '["name=seccomp,profile=default"]',
};

test.each([
  ['an engine on this Linux, or on that of WSL2', linux, false],
  ['Docker Desktop on Linux or below WSL2', { ...linux, operatingSystem: 'Docker Desktop' }, true],
  [
    'an engine without root',
    { ...linux, securityOptions: '["name=seccomp,profile=default","name=rootless"]' },
    true,
  ],
  ['macOS', { ...linux, platform: 'darwin', operatingSystem: 'Docker Desktop' }, true],
  [
    "macOS with another engine's virtual machine",
    { ...linux, platform: 'darwin', operatingSystem: 'Ubuntu 24.04' },
    true,
  ],
])('%s', (_, facts, expected) => {
  expect(needsPorts(facts)).toBe(expected);
});

type Configuration = {
  nodes: [
    {
      image: string;
      extraPortMappings?: { hostPort: number; containerPort: number; listenAddress: string }[];
    },
  ];
};

test('every node port that a Service can get is published on this machine alone, under the same number', () => {
  const configuration = buildKindConfiguration({ cluster: 'gx', image: 'node:1', isMapped: true });
  const [{ image, extraPortMappings = [] }] = (configuration as Configuration).nodes;
  expect(image).toBe('node:1');
  const { first, last } = chooseKindPorts('gx').nodePorts;
  expect(JSON.stringify(configuration)).toContain(`${first}-${last}`);
  expect(extraPortMappings.map(({ hostPort }) => hostPort)).toEqual(
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  );
  expect(
    extraPortMappings.every(
      (one) => one.hostPort === one.containerPort && one.listenAddress === '127.0.0.1',
    ),
  ).toBe(true);
});

test('where the node answers at its address, nothing of this machine is taken', () => {
  const [node] = (
    buildKindConfiguration({ cluster: 'gx', image: 'node:1', isMapped: false }) as Configuration
  ).nodes;
  expect(node).toEqual({ role: 'control-plane', image: 'node:1' });
});

test('the cluster of make run and that of make test want different ports', () => {
  const all = ['gx', 'gx-test'].flatMap((name) => {
    const { git, registry, nodePorts } = chooseKindPorts(name);
    return [
      git,
      registry,
      ...Array.from(
        { length: nodePorts.last - nodePorts.first + 1 },
        (_, index) => nodePorts.first + index,
      ),
    ];
  });
  expect(new Set(all).size).toBe(all.length);
  expect(all.every((port) => port >= 30_000 && port <= 32_767)).toBe(true);
});

test('the control plane has one of the published node ports', () => {
  const { controlPlane, nodePorts } = chooseKindPorts('anything');
  expect(controlPlane).toBeGreaterThanOrEqual(nodePorts.first);
  expect(controlPlane).toBeLessThanOrEqual(nodePorts.last);
});
