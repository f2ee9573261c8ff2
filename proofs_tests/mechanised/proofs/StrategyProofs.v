(** The machines of the strategies recognise what the strategies select (FOUND Prop. 1, Thm. 4). *)

Require Import Mechanised.Tactics Mechanised.WordProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Automaton.
Require Import Mechanised.Strategies Mechanised.Determinise.

Section Machines.
  Context {D : Type} (A : cea D) (dec : decidable_states A).
  Hypothesis all_listed : listed A.

  Lemma in_as_set U q : In q (as_set A dec U) <-> In q (states A) /\ In q U.
  Proof. unfold as_set. rewrite filter_In. destruct (in_dec dec q U); intuition discriminate. Qed.

  Lemma reaches_length s w q : reaches A s w q -> length w = length s.
  Proof. induction 1; cbn; auto. Qed.

  Lemma reaches_nil w q : reaches A [] w q <-> w = [] /\ initial A q = true.
  Proof. split; [now inversion 1 | intros [-> H]; now constructor]. Qed.

  Lemma reaches_cons t s n w q : reaches A (t :: s) (n :: w) q <->
    exists p, reaches A s w p /\ step A t n p q.
  Proof. split; [inversion 1; subst; eauto | intros (p & H & K); econstructor; eauto]. Qed.

  (** A set of states is that of the runs over a set of words. *)
  Definition states_of (s : stream D) (W : list mark -> Prop) (U : list (state A)) : Prop :=
    forall q, In q U <-> exists w, W w /\ reaches A s w q.

  Lemma same_mark_true m n : same_mark m n = true <-> m = n.
  Proof. now destruct m, n. Qed.

  Lemma in_steps t m U q : In q (steps A dec t m U) <-> exists p, In p U /\ step A t m p q.
  Proof.
    unfold steps, step. rewrite in_as_set, in_flat_map. split.
    - intros (_ & p & I & H). rewrite in_flat_map in H. destruct H as ([[[p' P] n] q'] & T & H).
      destruct (dec p p') as [->|]; [|easy]. destruct (P t) eqn:PT, (same_mark m n) eqn:E; cbn in H; break; try easy.
      apply same_mark_true in E. subst. eauto 6.
    - intros (p & I & P & T & PT). split; [now apply all_listed in T|]. exists p. split; auto. rewrite in_flat_map.
      exists (p, P, m, q). split; auto. destruct (dec p p); [|easy].
      rewrite PT, (proj2 (same_mark_true m m) eq_refl). now left.
  Qed.

  Lemma in_start_set q : In q (start_set A) <-> initial A q = true.
  Proof. unfold start_set. rewrite filter_In. split; [tauto|]. intros I. split; auto. now apply all_listed. Qed.

  Lemma in_minus U V q : In q (minus A dec U V) <-> In q U /\ ~ In q V.
  Proof.
    unfold minus. rewrite filter_In. destruct (in_dec dec q V); intuition discriminate.
  Qed.

  Lemma meets_true U : meets A U = true <-> exists q, In q U /\ final A q = true.
  Proof. apply existsb_exists. Qed.

  (** * One run for each word *)

  Lemma determinised_states s : forall w, length w = length s ->
    forall q, In q (after (determinised_machine A dec) s w) <-> reaches A s w q.
  Proof.
    induction s as [|t s IH]; intros [|m w] L q; try easy.
    - cbn. rewrite in_start_set, reaches_nil. tauto.
    - injection L as L. cbn. rewrite in_steps, reaches_cons. split; intros (p & H & K); exists p;
        (split; [apply IH; auto | auto]).
  Qed.

  Theorem determinised_correct s w : output A s w <-> recognises (determinised_machine A dec) s w.
  Proof.
    unfold output, recognises. cbn. rewrite meets_true. split.
    - intros (w' & q & -> & R & F). pose proof (reaches_length _ _ _ R). repeat split; eauto.
      exists q. rewrite determinised_states; auto.
    - intros (L & (w' & ->) & q & H & F). exists w', q. rewrite determinised_states in H; auto.
  Qed.

  (** * Strategies that compare words *)

  (** The states of a word that no better word has, and those of better and of worse words. *)
  Definition own (x : strategy) (s : stream D) w (R B : list (state A)) : Prop :=
    forall q, In q R <-> reaches A s w q /\ ~ In q B.
  Definition better (x : strategy) (s : stream D) w (B : list (state A)) : Prop :=
    forall q, In q B <-> exists v, wins x v w /\ reaches A s v q.

  (** Such sets decide whether a word is selected, where better words that accept are outputs. *)
  Lemma selected_by_sets x s w R B :
    x <> Strict -> own x s w R B -> better x s w B -> length w = length s ->
    (forall v q, wins x v w -> w <> [] -> reaches A s v q -> final A q = true -> exists v', v = Take :: v') ->
    selected x A s w <->
      length w = length s /\ (exists w', w = Take :: w') /\ meets A R && negb (meets A B) = true.
  Proof.
    intros NS HR HB L HF. unfold selected. rewrite andb_true_iff, negb_true_iff, <- not_true_iff_false.
    rewrite !meets_true. split.
    - intros ((w' & q & E & K & F) & _ & N).
      assert (X : forall p, In p B -> final A p = true -> False).
      { intros p I Fp. apply HB in I as (v & V & Rv).
        destruct (HF v p V) as [v' ->]; auto; [subst; easy|].
        apply (N (Take :: v')); [now exists v', p|]. apply beats_wins; auto.
        now rewrite (reaches_length _ _ _ Rv). }
      repeat split; eauto; [|intros (p & I & Fp); eauto].
      exists q. split; auto. apply HR. split; eauto.
    - intros (_ & (w' & ->) & (q & I & F) & N). apply HR in I as [K _].
      split; [now exists w', q|]. split; [now destruct x|].
      intros v (v' & p & -> & Rv & Fp) V. apply N. exists p. split; auto. apply HB.
      exists (Take :: v'). split; auto. apply beats_wins; auto.
      pose proof (reaches_length _ _ _ Rv). congruence.
  Qed.

  Lemma reaches_listed s w q : reaches A s w q -> In q (states A).
  Proof.
    destruct 1 as [q I | s w p t m q R (P & T & PT)]; [now apply all_listed | now apply all_listed in T].
  Qed.

  Lemma better_as_set x s w B : better x s w B -> better x s w (as_set A dec B).
  Proof.
    intros HB q. rewrite in_as_set, (HB q). split; [tauto|].
    intros (v & V & R). split; eauto using reaches_listed.
  Qed.

  Lemma own_start x : own x [] [] (start_set A) [].
  Proof. intros q. rewrite in_start_set, reaches_nil. cbn. tauto. Qed.

  Lemma better_start x : better x [] [] [].
  Proof. intros q. cbn. split; [easy|]. intros ([|] & [] & _). Qed.

  (** The states of a word, better ones included, after one more event. *)
  Lemma own_step x s w R B t m B' : own x s w R B ->
    (forall q p, In p B -> step A t m p q -> In q B') ->
    own x (t :: s) (m :: w) (minus A dec (steps A dec t m R) B') B'.
  Proof.
    intros HR HB q. rewrite in_minus, in_steps, reaches_cons. split.
    - intros ((p & I & K) & N). split; auto. exists p. split; auto. now apply HR in I.
    - intros ((p & I & K) & N). split; auto. exists p. split; auto. apply HR. split; auto.
      intros J. apply N. eauto.
  Qed.

  Lemma in_all_states x s w R B p : own x s w R B -> reaches A s w p -> In p R \/ In p B.
  Proof. intros HR K. destruct (in_dec dec p B); auto. left. now apply HR. Qed.

  (** NXT and MAX follow the same sets: they differ in what a better word may do where this one takes. *)

  Lemma in_steps_app t m U q V : In q (steps A dec t m U ++ V) <->
    (exists p, In p U /\ step A t m p q) \/ In q V.
  Proof. now rewrite in_app_iff, in_steps. Qed.

  Lemma nxt_states s : forall w, length w = length s ->
    let '(R, B) := after (nxt_machine A dec) s w in own Nxt s w R B /\ better Nxt s w B.
  Proof.
    induction s as [|t s IH]; intros [|m w] L; try easy; [split; [apply own_start | apply better_start]|].
    injection L as L. specialize (IH w L). cbn. destruct (after (nxt_machine A dec) s w) as [R B].
    destruct IH as [HR HB]. set (B' := match m with Take => _ | Skip => _ end).
    assert (HB' : better Nxt (t :: s) (m :: w) B').
    { intros q. unfold B'. split.
      - intros I. destruct m; repeat rewrite in_steps_app in I; rewrite in_steps in I.
        + destruct I as [(p & I & K)|(p & I & K)]; apply HB in I as (v & V & Rv);
            [exists (Take :: v) | exists (Skip :: v)]; (split; [cbn; auto | apply reaches_cons; eauto]).
        + destruct I as [(p & I & K)|[(p & I & K)|(p & I & K)]];
            [apply HB in I as (v & V & Rv) | apply HB in I as (v & V & Rv) | apply HR in I as [Rw _]];
            [exists (Take :: v) | exists (Skip :: v) | exists (Take :: w)];
            (split; [cbn; auto | apply reaches_cons; eauto]).
      - intros ([|n v] & V & K); [easy|]. rewrite reaches_cons in K. destruct K as (p & K & H).
        cbn in V. destruct V as [V|(-> & -> & ->)].
        + assert (I : In p B) by (apply HB; eauto).
          destruct m, n; repeat rewrite in_steps_app; rewrite in_steps; eauto 6.
        + repeat rewrite in_steps_app. rewrite in_steps.
          destruct (in_all_states _ _ _ _ _ _ HR K); eauto 6. }
    apply better_as_set in HB'. split; auto. apply own_step with B; auto. intros q p I H.
    apply HB in I as (v & V & Rv). apply HB'. exists (m :: v). split; [cbn; auto | apply reaches_cons; eauto].
  Qed.

  Theorem nxt_correct s w : ends_by_taking A ->
    selected Nxt A s w <-> recognises (nxt_machine A dec) s w.
  Proof.
    intros E. destruct (Nat.eq_dec (length w) (length s)) as [L|N].
    - unfold recognises. pose proof (nxt_states s w L) as H. cbn [accepts nxt_machine].
      destruct (after (nxt_machine A dec) s w) as [R B]. destruct H as [HR HB].
      apply selected_by_sets; auto; [easy|]. intros [|n v] q V W K F; [destruct w; easy|].
      destruct s; [now apply reaches_length in K|]. rewrite reaches_cons in K.
      destruct K as (p & _ & P & T & _). rewrite (E _ _ _ _ T F). eauto.
    - split; [|now intros [? _]]. intros ((w' & q & _ & K & _) & _). now apply reaches_length in K.
  Qed.

  Lemma max_states s : forall w, length w = length s ->
    let '(R, B) := after (max_machine A dec) s w in own Max s w R B /\ better Max s w B.
  Proof.
    induction s as [|t s IH]; intros [|m w] L; try easy; [split; [apply own_start | apply better_start]|].
    injection L as L. specialize (IH w L). cbn. destruct (after (max_machine A dec) s w) as [R B].
    destruct IH as [HR HB]. set (B' := match m with Take => _ | Skip => _ end).
    assert (HB' : better Max (t :: s) (m :: w) B').
    { intros q. unfold B'. split.
      - intros I. destruct m; repeat rewrite in_steps_app in I; rewrite in_steps in I.
        + destruct I as (p & I & K). apply HB in I as (v & V & Rv).
          exists (Take :: v). split; [cbn; auto | apply reaches_cons; eauto].
        + destruct I as [(p & I & K)|[(p & I & K)|(p & I & K)]];
            [apply HB in I as (v & V & Rv) | apply HB in I as (v & V & Rv) | apply HR in I as [Rw _]];
            [exists (Take :: v) | exists (Skip :: v) | exists (Take :: w)];
            (split; [cbn; split; [easy | auto] | apply reaches_cons; eauto]).
      - intros ([|n v] & V & K); [easy|]. rewrite reaches_cons in K. destruct K as (p & K & H).
        cbn in V. destruct V as [M [V|(-> & -> & ->)]].
        + assert (I : In p B) by (apply HB; eauto).
          destruct m; [rewrite M in H by auto|destruct n]; repeat rewrite in_steps_app; rewrite in_steps; eauto 6.
        + repeat rewrite in_steps_app. rewrite in_steps.
          destruct (in_all_states _ _ _ _ _ _ HR K); eauto 6. }
    apply better_as_set in HB'. split; auto. apply own_step with B; auto. intros q p I H.
    apply HB in I as (v & V & Rv). apply HB'. exists (m :: v). split; [cbn; auto | apply reaches_cons; eauto].
  Qed.

  Theorem max_correct s w : selected Max A s w <-> recognises (max_machine A dec) s w.
  Proof.
    destruct (Nat.eq_dec (length w) (length s)) as [L|N].
    - unfold recognises. pose proof (max_states s w L) as H. cbn [accepts max_machine].
      destruct (after (max_machine A dec) s w) as [R B]. destruct H as [HR HB].
      destruct w as [|[] w].
      + split; [intros ((w' & q & E & _) & _); easy | intros (_ & (w' & E) & _); easy].
      + apply selected_by_sets; auto; [easy|]. intros [|n v] q V W K F; [easy|].
        cbn in V. destruct V as [M _]. rewrite M by auto. eauto.
      + split; [intros ((w' & q & E & _) & _); easy | intros (_ & (w' & E) & _); easy].
    - split; [|now intros [? _]]. intros ((w' & q & _ & K & _) & _). now apply reaches_length in K.
  Qed.

  (** LAST: a later mark decides, so the states of worse words are followed too. *)
  Definition worse (s : stream D) w (R B W : list (state A)) : Prop :=
    forall q, In q W <-> (exists v, wins Last w v /\ reaches A s v q) /\ ~ In q R /\ ~ In q B.

  (** Every state of any word is in one of the three sets. *)
  Lemma in_some_set s w R B W v p : own Last s w R B -> better Last s w B -> worse s w R B W ->
    length w = length s -> reaches A s v p -> In p R \/ In p B \/ In p W.
  Proof.
    intros HR HB HW L K. destruct (in_dec dec p B), (in_dec dec p R); auto.
    destruct (last_total v w) as [V|[->|V]].
    - now rewrite L, (reaches_length _ _ _ K).
    - right; left. apply HB. eauto.
    - left. apply HR. auto.
    - right; right. apply HW. eauto.
  Qed.

  Lemma in_set_reached s w R B W p : own Last s w R B -> better Last s w B -> worse s w R B W ->
    In p R \/ In p B \/ In p W -> exists v, reaches A s v p.
  Proof.
    intros HR HB HW [I|[I|I]]; [apply HR in I | apply HB in I | apply HW in I]; break; eauto.
  Qed.

  Lemma last_states s : forall w, length w = length s ->
    let '(R, B, W) := after (last_machine A dec) s w in
    own Last s w R B /\ better Last s w B /\ worse s w R B W.
  Proof.
    induction s as [|t s IH]; intros [|m w] L; try easy.
    { split; [apply own_start | split; [apply better_start|]]. intros q. cbn. split; [easy|].
      now intros ((v & [] & _) & _). }
    injection L as L. specialize (IH w L). cbn. destruct (after (last_machine A dec) s w) as [[R B] W].
    destruct IH as (HR & HB & HW). set (B' := match m with Take => steps A dec t Take B | Skip => _ end).
    set (W' := match m with Take => _ | Skip => steps A dec t Skip W end).
    assert (HB' : better Last (t :: s) (m :: w) B').
    { intros q. unfold B'. split.
      - intros I. destruct m; repeat rewrite in_steps_app in I; rewrite in_steps in I.
        + destruct I as (p & I & K). apply HB in I as (v & V & Rv).
          exists (Take :: v). split; [cbn; auto | apply reaches_cons; eauto].
        + assert (X : (exists p, In p B /\ step A t Skip p q) \/
            exists p, (In p R \/ In p B \/ In p W) /\ step A t Take p q) by (destruct I as [?|[?|[?|?]]]; break; eauto 8).
          destruct X as [(p & I' & K)|(p & I' & K)].
          * apply HB in I' as (v & V & Rv). exists (Skip :: v). split; [cbn; auto | apply reaches_cons; eauto].
          * eapply in_set_reached in I' as [v Rv]; eauto.
            exists (Take :: v). split; [cbn; auto | apply reaches_cons; eauto].
      - intros ([|n v] & V & K); [easy|]. rewrite reaches_cons in K. destruct K as (p & K & H).
        cbn in V. destruct V as [[-> ->]|[-> V]].
        + repeat rewrite in_steps_app. rewrite in_steps.
          destruct (in_some_set _ _ _ _ _ _ _ HR HB HW L K) as [I|[I|I]]; eauto 8.
        + assert (I : In p B) by (apply HB; eauto).
          destruct m; repeat rewrite in_steps_app; rewrite in_steps; eauto 6. }
    apply better_as_set in HB'. set (C' := as_set A dec B') in *. clearbody C'. clear B'. rename C' into B'.
    assert (HR' : own Last (t :: s) (m :: w) (minus A dec (steps A dec t m R) B') B').
    { apply own_step with B; auto. intros q p I H. apply HB in I as (v & V & Rv).
      apply HB'. exists (m :: v). split; [cbn; auto | apply reaches_cons; eauto]. }
    split; [|split]; auto. intros q. set (R' := minus A dec (steps A dec t m R) B') in *.
    rewrite in_as_set, (in_minus (minus A dec W' B') R'), (in_minus W' B').
    assert (sound : In q W' -> exists v, wins Last (m :: w) v /\ reaches A (t :: s) v q).
    { unfold W'. intros I. destruct m; repeat rewrite in_steps_app in I; rewrite in_steps in I.
      - assert (X : (exists p, In p W /\ step A t Take p q) \/
          exists p, (In p R \/ In p B \/ In p W) /\ step A t Skip p q) by (destruct I as [?|[?|[?|?]]]; break; eauto 8).
        destruct X as [(p & I' & K)|(p & I' & K)].
        + apply HW in I' as ((v & V & Rv) & _). exists (Take :: v). split; [cbn; auto | apply reaches_cons; eauto].
        + eapply in_set_reached in I' as [v Rv]; eauto.
          exists (Skip :: v). split; [cbn; auto | apply reaches_cons; eauto].
      - destruct I as (p & I & K). apply HW in I as ((v & V & Rv) & _).
        exists (Skip :: v). split; [cbn; auto | apply reaches_cons; eauto]. }
    assert (complete : (exists v, wins Last (m :: w) v /\ reaches A (t :: s) v q) ->
      ~ In q R' -> ~ In q B' -> In q W').
    { intros ([|n v] & V & K) NR NB; [easy|]. rewrite reaches_cons in K. destruct K as (p & K & H).
      pose proof (in_some_set _ _ _ _ _ _ _ HR HB HW L K) as I. cbn in V. unfold W'.
      destruct V as [[-> ->]|[-> V]].
      - repeat rewrite in_steps_app. rewrite in_steps. destruct I as [I|[I|I]]; eauto 8.
      - destruct I as [I|[I|I]].
        + exfalso. apply NR. unfold R'. rewrite in_minus, in_steps. eauto.
        + exfalso. apply NB. apply HB in I as (u & U & Ru). apply HB'. exists (n :: u).
          split; [cbn; auto | apply reaches_cons; eauto].
        + destruct n; repeat rewrite in_steps_app; rewrite in_steps; eauto 6. }
    assert (inside : (exists v, wins Last (m :: w) v /\ reaches A (t :: s) v q) -> In q (states A)).
    { intros (v & _ & K). now apply reaches_listed in K. }
    tauto.
  Qed.

  Theorem last_correct s w : selected Last A s w <-> recognises (last_machine A dec) s w.
  Proof.
    destruct (Nat.eq_dec (length w) (length s)) as [L|N].
    - unfold recognises. pose proof (last_states s w L) as H. cbn [accepts last_machine].
      destruct (after (last_machine A dec) s w) as [[R B] W]. destruct H as (HR & HB & _).
      destruct w as [|[] w].
      + split; [intros ((w' & q & E & _) & _); easy | intros (_ & (w' & E) & _); easy].
      + apply selected_by_sets; auto; [easy|]. intros [|n v] q V _ K F; [easy|].
        cbn in V. destruct V as [[_ ?]|[-> _]]; [easy | eauto].
      + split; [intros ((w' & q & E & _) & _); easy | intros (_ & (w' & E) & _); easy].
    - split; [|now intros [? _]]. intros ((w' & q & _ & K & _) & _). now apply reaches_length in K.
  Qed.

  (** STRICT: no word competes, and its own block is followed. *)
  Fixpoint block_of (w : list mark) : option block :=
    match w with
    | [] => Some Before
    | m :: w => match block_of w with Some b => next_block b m | None => None end
    end.

  Lemma strict_states s : forall w, length w = length s ->
    let '(b, R) := after (strict_machine A dec) s w in
    b = block_of w /\ forall q, In q R <-> reaches A s w q.
  Proof.
    induction s as [|t s IH]; intros [|m w] L; try easy.
    - split; auto. intros q. rewrite reaches_nil, in_start_set. tauto.
    - injection L as L. specialize (IH w L). cbn. destruct (after (strict_machine A dec) s w) as [b R].
      destruct IH as [-> HR]. split; auto. intros q. rewrite in_steps, reaches_cons.
      split; intros (p & H & K); exists p; (split; [apply HR; auto | auto]).
  Qed.

  (** What each block says of a word. *)
  Definition gapless (w : list mark) : Prop := admissible Strict (takes w).
  Lemma block_of_word w : match block_of w with
    | Some Before => forall k, takes w k = false
    | Some Inside => gapless w /\ takes w (length w - 1) = true /\ w <> []
    | Some After => gapless w /\ (exists k, takes w k = true) /\ takes w (length w - 1) = false
    | None => ~ gapless w
    end.
  Proof.
    induction w as [|m w IH]; [intros k; apply takes_beyond; cbn; lia|]. cbn [block_of].
    assert (last : takes (m :: w) (length (m :: w) - 1) = is_take m).
    { replace (length (m :: w) - 1) with (length w) by (cbn; lia). apply takes_last. }
    assert (grows : ~ gapless w -> ~ gapless (m :: w)).
    { intros N G. apply N. intros i j k H Hi Hk. pose proof (takes_bound _ _ Hk).
      specialize (G i j k H). rewrite !takes_earlier in G by lia. auto. }
    assert (skips : m = Skip -> gapless w -> gapless (m :: w)).
    { intros -> G i j k H Hi Hk. pose proof (takes_bound _ _ Hk) as K. cbn in K.
      destruct (Nat.eq_dec k (length w)) as [->|]; [now rewrite takes_last in Hk|].
      rewrite !takes_earlier in * by lia. eapply G; eauto. }
    destruct (block_of w) as [[]|], m; cbn [next_block]; auto.
    - split; [|split; [exact last | easy]]. intros i j k H Hi Hk.
      pose proof (takes_bound _ _ Hk) as K. cbn in K. rewrite takes_earlier, IH in Hi by lia. easy.
    - intros k. destruct (Nat.lt_ge_cases k (length w)); [now rewrite takes_earlier|].
      destruct (Nat.eq_dec k (length w)) as [->|]; [apply takes_last|].
      apply takes_beyond. cbn; lia.
    - destruct IH as (G & E & N). split; [|split; [exact last | easy]]. intros i j k H Hi Hk.
      pose proof (takes_bound _ _ Hk) as K. cbn in K. rewrite takes_earlier in * by lia.
      destruct (Nat.eq_dec j (length w - 1)) as [->|]; auto. eapply G; [|exact Hi|exact E]. lia.
    - destruct IH as (G & E & N). split; auto. split; auto. exists (length w - 1).
      rewrite takes_earlier; auto. destruct w; [easy | cbn; lia].
    - destruct IH as (G & (k & K) & E). intros G'. pose proof (takes_bound _ _ K).
      assert (k <> length w - 1) by congruence.
      specialize (G' k (length w - 1) (length w)). rewrite takes_last in G'.
      rewrite !takes_earlier in G' by lia. rewrite E in G'. specialize (G' ltac:(lia) K eq_refl). easy.
    - destruct IH as (G & (k & K) & E). split; auto. split; auto. exists k.
      pose proof (takes_bound _ _ K). now rewrite takes_earlier.
  Qed.

  Theorem strict_correct s w : selected Strict A s w <-> recognises (strict_machine A dec) s w.
  Proof.
    destruct (Nat.eq_dec (length w) (length s)) as [L|N].
    - unfold recognises, selected, output. pose proof (strict_states s w L) as H. cbn [accepts strict_machine].
      destruct (after (strict_machine A dec) s w) as [b R]. destruct H as [-> HR].
      pose proof (block_of_word w) as X. split.
      + intros ((w' & q & E & K & F) & G & _). repeat split; eauto.
        assert (M : meets A R = true) by (apply meets_true; exists q; now rewrite HR).
        destruct (block_of w) as [b|]; [exact M | easy].
      + intros (_ & (w' & E) & M). destruct (block_of w) as [b|]; [|easy].
        apply meets_true in M as (q & I & F). rewrite HR in I. repeat split; [eauto 6 | | cbn; auto].
        destruct b; try apply X. intros i j k _ Hi. now rewrite X in Hi.
    - split; [|now intros [? _]]. intros ((w' & q & _ & K & _) & _). now apply reaches_length in K.
  Qed.
End Machines.
