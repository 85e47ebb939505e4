import process from 'node:process';

const began = performance.now();

/** Says what happens, with the seconds since the start. */
export const tell = (line: string): void =>
  void process.stderr.write(
    `${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${line}\n`,
  );
