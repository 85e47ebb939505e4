import process from 'node:process';

const NAME = 'GX_TEST_SERVER_MAIN';

/** Returns the program of the agent server: the bundle that images run, where the suite has made one. */
export const serverMain = (): string => process.env[NAME] ?? 'src/main.ts';

/** Has the tests of this run start this program. */
export function startFrom(main: string): void {
  process.env[NAME] = main;
}
