import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { register } from 'tsx/esm/api';
import { loadFault } from './load-fault.ts';

/* This separate process loads the modules of graphs as a server does, and runs no graph. */

async function faultsOf(files: string[]): Promise<string[]> {
  register();
  const faults: string[] = [];
  for (const file of files) {
    const fault = await import(pathToFileURL(file).href).then(() => undefined, loadFault);
    if (fault !== undefined) faults.push(`${file}: ${fault}`);
  }
  return faults;
}

process.once('message', (files: string[]) => void faultsOf(files).then((faults) => process.send?.(faults)));
