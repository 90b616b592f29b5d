/* SPDX-License-Identifier: MIT
   exchange.pml: how blocks of the megakernel wait for one another (resident::exchange, exchange_in_group and wait,
   megakernel::run), for Spin.

   Blocks 0 and 1 are a cluster: each writes its head, they wait for one another, each reads both. Then each of them sends its
   part of a row, a word with the token's number, and every block hears all parts; then all wait, with what each found best, and each reads
   that; again for each token, in the same places. A block may be lost at any point (LOST), and the host may say no at any time
   (ABORT). A cluster does not wait for who has ended: the hardware's rule. With COUNTED blocks 0 and 1 are no cluster, but a group
   that waits at a counter of its own. Checked: who reads finds exactly what is this token's; every block comes to its end; nobody
   stops before its time when nothing went wrong. -D BREAK=1 to 10 take something out, and must be found. */
#define BLOCKS 3
#define SENDERS 2        /* block 2 has nothing of the row: nobody waits for it but where all do */
#define TOKENS 2
#ifndef BREAK
#define BREAK 0
#endif

#define RUNNING 0
#define FINISHED 1
#define ABORTED 2
#define TOO_LATE 3

byte head[BLOCKS], word[BLOCKS], number[BLOCKS];
byte best[6];            /* [2][BLOCKS]: some may still read those of the token before */
byte came[BLOCKS];       /* how often a block has come to a wait of its cluster */
bool gone[BLOCKS];
byte arrived, arrived_in_group;  /* they only grow */
byte end = RUNNING;
bool host_says_no;
byte left;               /* blocks that are done */
byte lost;

/* A block adds one, and looks until all have come; or until the launch has an ending. Patience is what nobody models:
   it may run out as soon as a block is lost, and never otherwise. */
inline exchange() {
  expected = expected + BLOCKS;
  arrived++;
  do
  :: BREAK != 1 && arrived >= expected -> break
  :: BREAK == 1 && arrived + 1 >= expected -> break
  :: arrived < expected && end != RUNNING && BREAK != 2 -> ending = end; break
  :: arrived < expected && lost > 0 && BREAK != 3 -> end = TOO_LATE; ending = TOO_LATE; break
  od
}

/* The same of the two blocks of a group. */
inline exchange_in_group() {
  expected_in_group = expected_in_group + 2;
  arrived_in_group++;
  do
  :: BREAK != 10 && arrived_in_group >= expected_in_group -> break
  :: BREAK == 10 && arrived_in_group + 1 >= expected_in_group -> break
  :: arrived_in_group < expected_in_group && end != RUNNING && BREAK != 2 -> ending = end; break
  :: arrived_in_group < expected_in_group && lost > 0 && BREAK != 3 -> end = TOO_LATE; ending = TOO_LATE; break
  od
}

/* There is no way out of it but that the other comes, or has ended. */
inline exchange_in_cluster() {
  came[me]++;
  (BREAK == 4 || came[1 - me] >= came[me] || (gone[1 - me] && BREAK != 9))
}

/* 8 bytes are never torn. (BREAK 6: they are.) */
inline send() {
  if
  :: BREAK == 6 -> number[me] = token; word[me] = token
  :: else -> d_step { word[me] = token; number[me] = token }
  fi
}
/* All words that have this token's number. (BREAK 5: that have any.) */
inline hear() {
  for (other : 0 .. SENDERS - 1) {
    do
    :: number[other] == token || (BREAK == 5 && number[other] > 0) || ending != RUNNING -> break
    :: number[other] != token && ending == RUNNING && end != RUNNING && BREAK != 2 -> ending = end
    :: number[other] != token && ending == RUNNING && lost > 0 && BREAK != 3 -> end = TOO_LATE; ending = TOO_LATE
    od;
    assert(ending != RUNNING || word[other] == token)
  }
}

proctype block(byte me) {
  byte expected = 0, expected_in_group = 0, token = 0, other, ending = RUNNING;
  do
  :: token == TOKENS || ending != RUNNING -> break
  :: else ->
     token++;
     if
     :: me == 0 && host_says_no -> end = ABORTED; ending = ABORTED
     :: me == 0 && !host_says_no
     :: me != 0
     fi;
     if
     :: ending == RUNNING ->
#ifdef LOST
        if
        :: lost == 0 -> lost++; goto end_of_block
        :: true
        fi;
#endif
        if
        :: me < 2 ->
           head[me] = token;
#ifdef COUNTED
           exchange_in_group();
           assert(head[1 - me] == token || ending != RUNNING)
#else
           exchange_in_cluster();
           assert(head[1 - me] == token || gone[1 - me])
#endif
        :: else
        fi;
        if
        :: me < SENDERS && ending == RUNNING -> send()
        :: else
        fi;
        hear();
        if
        :: ending == RUNNING ->
           best[(BREAK == 7 -> 0 : token % 2) * BLOCKS + me] = token;
           if
           :: BREAK != 8 -> exchange()
           :: else
           fi;
           if
           :: ending == RUNNING ->
              for (other : 0 .. BLOCKS - 1) {
                assert(best[(BREAK == 7 -> 0 : token % 2) * BLOCKS + other] == token)
              }
           :: else
           fi
        :: else
        fi
     :: else
     fi
  od;
#ifndef LOST
  assert(ending != TOO_LATE);
#ifndef ABORT
  assert(ending == RUNNING && token == TOKENS);
#endif
#endif
  if
  :: me == 0 && ending == RUNNING -> end = FINISHED
  :: else
  fi;
end_of_block:
  gone[me] = true;
  left++
}

init {
  byte i;
  atomic {
    for (i : 0 .. BLOCKS - 1) {
      run block(i)
    }
  }
#ifdef ABORT
  host_says_no = true;
#endif
  left == BLOCKS
}

ltl ends { <> (left == BLOCKS) }
