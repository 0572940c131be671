/** Loaded only where HOME does not say it: node:os costs a start 1.5 ms. */
import { userInfo } from 'node:os';

/** The home directory of the user in the passwd database; undefined for a user without an entry, as in many containers. */
export function passwdHome(): string | undefined {
  try {
    // Not homedir(): that is HOME again, empty or relative as it may be.
    return userInfo().homedir;
  } catch {
    return undefined;
  }
}
