import process from 'node:process';
import { runProcess, canRun } from '../../dev/commands.ts';
import { listChildProcesses, readRecord, requireTool } from '../../dev/cluster/native/record.ts';

/** The network of a native cluster's node, and of its pods. */
export type NodeNetwork = {
  /** Refuses every new connection to another machine, except for those to one address. */
  close(open: string): Promise<void>;
  /** Returns whether a process of the node reaches a URL. */
  reaches(url: string): Promise<boolean>;
};

/** Returns the network of a running native cluster. */
export function nodeNetwork(name: string): NodeNetwork {
  const record = readRecord(name);
  const pid = listChildProcesses(record?.process?.pid ?? 0)[0];
  if (record === undefined || pid === undefined)
    throw new Error(`There is no node of a native cluster ${name}.`);
  const inside = (tool: string, ...args: string[]): [string, string[]] => [
    requireTool(record, 'nsenter'),
    ['--target', String(pid), '--net', '--', tool, ...args],
  ];
  return {
    close: async (open) =>
      void (await runProcess(...inside(requireTool(record, 'nft'), '-f', '-'), {
        input: closed(open),
      })),
    reaches: (url) =>
      canRun(
        ...inside(process.execPath, '-e', `fetch('${url}', { signal: AbortSignal.timeout(5000) })`),
      ),
  };
}

/** Answers pass, because the machine itself asks the platform. All that leaves the node leaves it by `eth0`. */
function closed(open: string): string {
  const [address, port] = open.split(':');
  return `table inet gx_closed {
  chain decide {
    ct state established,related accept
    ip daddr ${address} tcp dport ${port} accept
    reject
  }
  chain forward {
    type filter hook forward priority -5
    oifname "eth0" jump decide
  }
  chain output {
    type filter hook output priority -5
    oifname "eth0" jump decide
  }
}
`;
}
