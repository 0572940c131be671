/** `npm run pictures`: makes docs/pictures anew, from real runs of the program. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setup } from '../support/build.ts';
import { makePictures } from './pictures.ts';

const directory = join(import.meta.dirname, '../../docs/pictures');
await setup();
mkdirSync(directory, { recursive: true });
for (const [file, picture] of await makePictures()) writeFileSync(join(directory, file), picture);
