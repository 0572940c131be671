/** One file of undici: it loads in 26 ms, where the whole takes 72. */
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici';
  export = Client;
}
