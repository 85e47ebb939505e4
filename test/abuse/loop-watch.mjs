import process from 'node:process';

/*
 * Watches the event loop of the server that it is loaded into. A gap between two ticks counts with the processor time
 * that the thread took in it, because a gap in which other processes had the processor is not this one's.
 */
const TICK = 5;
let longest = 0;
let used = process.threadCpuUsage();
setInterval(() => {
  const now = process.threadCpuUsage();
  longest = Math.max(longest, (now.user + now.system - used.user - used.system) / 1000);
  used = now;
}, TICK).unref();

process.on('message', () => {
  process.send?.(longest);
  longest = 0;
});
process.channel?.unref();
