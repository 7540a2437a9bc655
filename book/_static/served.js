// Empty here. Where `yardsticks serve` hands out the book, it says in this file where its kernels are, for live.js.
