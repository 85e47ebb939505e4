import { tool } from 'langchain';
import { z } from 'zod';

const hour = tool(({ city }: { city: string }) => `It is noon in ${city}`, {
  name: 'hour',
  description: 'Tells the hour of a city',
  schema: z.object({ city: z.string() }),
});

export const tools = [hour];
