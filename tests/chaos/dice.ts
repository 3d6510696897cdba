/** Random numbers that a seed decides, so that a failure can be played again. */

/** What the plans are drawn with. */
export interface Dice {
  /** A whole number from 0 to `limit - 1`. */
  below(limit: number): number;
  /** True this often, from 0 to 1. */
  chance(share: number): boolean;
  pick<T>(choices: readonly [T, ...T[]]): T;
}

/** Makes dice from a seed: a multiplicative congruential generator (Lehmer, 2^31 - 1, 48271). */
export function makeDice(seed: number): Dice {
  const modulus = 2 ** 31 - 1;
  let state = Math.abs(Math.trunc(seed)) % (modulus - 1) + 1;
  const roll = () => {
    state = state * 48271 % modulus;
    return state / modulus;
  };
  // Small seeds begin alike.
  for (let turn = 0; turn < 4; turn++) roll();
  return {
    below: (limit) => Math.floor(roll() * limit),
    chance: (share) => roll() < share,
    pick: (choices) => choices[Math.floor(roll() * choices.length)] ?? choices[0],
  };
}
