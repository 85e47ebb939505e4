import ms from 'ms';

document.body.textContent = `The agent answers within ${ms(60_000)}.`;
