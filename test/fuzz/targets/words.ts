/** Pieces of formats that several targets share. */

export const jsonWords: readonly string[] = [
  ...'{·}·[·]·:·,·"·\\·\\"·\\u0000·\\ud800·\\udc00·\\u·\\x·null·true·false'.split('·'),
  ...'{"a":·[[·[{·""·" "·{}·[]·"__proto__":·"constructor":·"id":·"fields":{·1e400·-0'.split('·'),
  ..."12345678901234567890·1.10·\ufeff·\u2028·\0·//·/*·'·\ud83d\ude00·NaN·\n·\r\n· ".split('·'),
];
