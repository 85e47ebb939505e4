import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';

/** Where the checkout's own package.json waits while npm packs the other one, which has to stand in its place. */
const KEPT = '.run/package/package.json';

/** Puts the checkout's package.json aside. One that an interrupted `npm pack` left aside comes back first. */
export function putAside(): void {
  putBack();
  mkdirSync('.run/package', { recursive: true });
  copyFileSync('package.json', KEPT);
}

export function putBack(): void {
  if (!existsSync(KEPT)) return;
  copyFileSync(KEPT, 'package.json');
  rmSync(KEPT);
}
