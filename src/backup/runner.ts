import { waitForAnswer, readAnswer, writeOrder } from './pipe.ts';

/* Scripts that the other container runs one after the other, with the programs of the database. */

/** The end of a script: its exit status, its output, and the end of its complaints. */
export type Ran = { status: number; output: string; words: string };
export type RunScript = (script: string) => Promise<Ran>;

/** Returns the function that has the other container run a script, and returns how it ended. */
export function buildScriptRunner(folder: string, signal: AbortSignal): RunScript {
  let number = 0;
  return async (script) => {
    number += 1;
    await writeOrder(folder, `${number}.sh`, script);
    await waitForAnswer(folder, [`${number}.end`], signal);
    const [status, output, words] = await Promise.all(
      ['end', 'out', 'error'].map((name) => readAnswer(folder, `${number}.${name}`)),
    );
    return {
      status: Number(status),
      output: output ?? '',
      words: (words ?? '').trim().slice(-1500),
    };
  };
}
