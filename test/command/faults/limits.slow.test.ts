/** The rows of the fault catalog (docs/faults.md) whose limit no flag makes shorter. */
import process from 'node:process';
import { expect } from 'vitest';
import { deafPort } from '../../support/deaf-port.ts';
import { row } from '../../support/fault-rows.ts';
import { environmentOf, runOneWay, verbs } from '../../support/fault-ways.ts';

if (process.platform === 'linux') {
  row('N03', 'connecting ends after 10 s, whatever an attempt may take', async (way) => {
    await using silent = await deafPort();
    const startedAt = performance.now();

    const { exitCode } = await runOneWay(way, [...verbs.get, '--retries', '0'], {
      env: environmentOf({ url: `http://127.0.0.1:${silent.port}/v1.0` }),
    });

    expect(exitCode).toBe(7);
    expect(performance.now() - startedAt).toBeGreaterThan(9_900);
    // Below the limit of a whole attempt, 30 s, however busy the machine is.
    expect(performance.now() - startedAt).toBeLessThan(25_000);
  });
}
