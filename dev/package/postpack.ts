import { runMain } from '../steps.ts';
import { putBack } from './checkout-manifest.ts';

/* npm runs it after it has packed: the checkout gets its own package.json back. */
await runMain(async () => putBack());
