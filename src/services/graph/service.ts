/** Microsoft Graph as a kind of service. */
import type { Service } from '../service.ts';
import { graphOperations } from './items.ts';
import { locate } from './places.ts';

export const graphService: Service = {
  items: graphOperations,
  resolve: locate,
};
