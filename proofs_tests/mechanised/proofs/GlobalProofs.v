(** Algorithm 1 on macro-states gives the answers under a global strategy (FOUND Thm. 4 with CORE Thm. 4; E13). *)

Require Import Mechanised.Tactics Mechanised.WordProofs Mechanised.EngineProofs Mechanised.SelectedProofs.
Require Mechanised.AlgorithmProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Automaton Mechanised.Strategies.
Require Import Mechanised.OpenEvents Mechanised.Evaluate Mechanised.Compile Mechanised.Determinise Mechanised.Tecs.
Require Import Mechanised.Selected Mechanised.GlobalTecs.

(** The open complex event of a word: its first position that is taken, and all of them, the latest first. *)
Inductive word_event : list mark -> open_event -> Prop :=
| first_take n : word_event (Take :: repeat Skip n) (n, [n])
| next_mark m w i P : word_event w (i, P) -> word_event (m :: w) (i, take_at m (length w) P).

Lemma word_event_some w : w = repeat Skip (length w) \/ exists i P, word_event w (i, P).
Proof.
  induction w as [|m w [E|(i & P & H)]]; [now left | | right; eexists _, _; apply next_mark; eassumption].
  destruct m; [right | left; cbn; now rewrite <- E]. exists (length w), [length w]. rewrite E at 1. apply first_take.
Qed.

Lemma word_event_take w : exists i P, word_event (Take :: w) (i, P).
Proof.
  destruct (word_event_some (Take :: w)) as [E|H]; [discriminate | exact H].
Qed.

Lemma takes_skips n k : takes (repeat Skip n) k = false.
Proof.
  unfold takes. destruct (nth_error (rev (repeat Skip n)) k) as [m|] eqn:E; auto.
  apply nth_error_In, in_rev, repeat_spec in E. now subst.
Qed.

Lemma word_event_takes w x : word_event w x ->
  filter (takes w) (seq 0 (length w)) = rev (snd x) /\ hd 0 (rev (snd x)) = fst x /\ rev (snd x) <> [].
Proof.
  induction 1 as [n | m w i P H (F & HD & N)]; cbn [fst snd].
  - split; [|split; [reflexivity | easy]]. cbn [length]. rewrite repeat_length, seq_S, filter_app. cbn [Nat.add filter].
    assert (T : takes (Take :: repeat Skip n) n = true).
    { pose proof (takes_last Take (repeat Skip n)) as T. now rewrite repeat_length in T. }
    rewrite T. replace (filter _ (seq 0 n)) with (@nil nat); [reflexivity|]. symmetry.
    assert (G : forall l, (forall k, In k l -> k < n) -> filter (takes (Take :: repeat Skip n)) l = []).
    { intros l. induction l as [|k l IH]; intros B; cbn; auto. rewrite IH by (intros k' I; apply B; now right).
      assert (L : k < n) by (apply B; now left). rewrite takes_earlier by (rewrite repeat_length; lia).
      now rewrite takes_skips. }
    apply G. intros k I. apply in_seq in I. lia.
  - cbn [fst snd] in F, HD, N. cbn [length]. rewrite seq_S, filter_app. cbn [Nat.add filter]. rewrite takes_last.
    assert (E : filter (takes (m :: w)) (seq 0 (length w)) = rev P).
    { rewrite <- F. apply filter_ext_in. intros k I. apply in_seq in I. apply takes_earlier. lia. }
    rewrite E. destruct m; cbn.
    + split; [reflexivity|]. split; [destruct (rev P); [easy | exact HD] | now destruct (rev P)].
    + rewrite app_nil_r. auto.
Qed.

Lemma word_event_complex w i P : word_event w (i, P) -> (i, length w - 1, rev P) = event_of_word w.
Proof. intros H. apply word_event_takes in H as (F & HD & _). unfold event_of_word. cbn in *. now rewrite F, HD. Qed.

Section Global.
  Context {D : Type} (M : machine D) (dec : forall c c' : configuration M, {c = c'} + {c <> c'}).
  Let B := of_machine M dec.

  Lemma open_word s : forall x k, open B s x k <-> exists m w, length (m :: w) = length s /\
    word_event (m :: w) x /\ k = (after M s (m :: w), Some m).
  Proof.
    induction s as [|t s IH]; intros x k.
    - split; [intros O; inversion O | intros (m & w & L & _); discriminate].
    - rewrite AlgorithmProofs.open_cons. split.
      + intros [(m & N & ->)|(m & i & P & [c b] & O & N & ->)].
        * cbn in N. destruct m; [|discriminate]. injection N as <-.
          exists Take, (repeat Skip (length s)). cbn. rewrite repeat_length. repeat split; auto. apply first_take.
        * apply IH in O as (m0 & w & L & W & E). injection E as -> ->. cbn in N. injection N as <-.
          exists m, (m0 :: w). split; [cbn in *; lia|]. split; [|reflexivity].
          rewrite <- L. now apply next_mark.
      + intros (m & w & L & W & ->). injection L as L. inversion W as [n E|m0 w0 i P W' E E']; subst.
        * left. rewrite repeat_length in L. subst n. exists Take. cbn. auto.
        * right. destruct w as [|m1 w]; [inversion W'|]. exists m, i, P, (after M s (m1 :: w), Some m1).
          rewrite L. repeat split. apply IH. eauto 6.
  Qed.

  (** The outputs are the words that the machine recognises. *)
  Lemma outputs_words lowest s i P : In (i, P) (outputs B lowest s) <-> lowest <= i /\
    exists w, recognises M s w /\ word_event w (i, P).
  Proof.
    rewrite AlgorithmProofs.outputs_correct. cbn [fst]. apply and_iff_compat_l. split.
    - intros (k & F & O). apply open_word in O as (m & w & L & W & ->). cbn in F.
      destruct m; [|discriminate]. exists (Take :: w). repeat split; eauto.
    - intros (w & (L & (w' & ->) & F) & W). exists (after M s (Take :: w'), Some Take). split; [exact F|].
      apply open_word. eauto 6.
  Qed.
End Global.

Theorem global_answers_correct {D} (evs : stream D) phi width x C : regular phi = true -> takes_ends phi = true ->
  In C (global_answers width x evs phi) <-> answer evs (optional within_events width (optional Select x phi)) C.
Proof.
  intros R E. rewrite answer_within, <- (wanted_answers evs phi R E). unfold global_answers. rewrite in_flat_map.
  set (A := waiting (marked (compile phi))). set (dec := option_dec (Engine.marked_dec phi)).
  assert (narrow_iff : forall i j P, narrow width (i, j, P) <->
    match width with Some n => j - n | None => 0 end <= i).
  { intros i j P. destruct width as [n|]; cbn; lia. }
  assert (LS : forall j, j < length evs -> length (rev (firstn (1 + j) evs)) = 1 + j).
  { intros j L. rewrite rev_length, firstn_length_le; lia. }
  split.
  - intros (j & J & I). apply in_seq in J. apply in_map_iff in I as ([i P] & <- & I).
    apply outputs_words in I as (L & w & W & H). split; [|now apply narrow_iff].
    exists j, w. split; [lia|]. split; [now apply wanted_recognised|].
    rewrite <- (word_event_complex w i P H). destruct W as (LW & _). rewrite LW, LS by lia. f_equal. f_equal. lia.
  - intros ((j & w & J & W & ->) & N). apply (wanted_recognised phi) in W as W'. destruct W' as (LW & (w' & ->) & F).
    rewrite LS in LW by auto. exists j. split; [apply in_seq; lia|]. apply in_map_iff.
    destruct (word_event_take w') as (i & P & H). exists (i, P). pose proof (word_event_complex _ _ _ H) as C'.
    replace (length (Take :: w') - 1) with j in C' by lia. split; [exact C'|]. apply outputs_words.
    rewrite <- C' in N. split; [now apply narrow_iff in N|]. exists (Take :: w'). split; auto.
    now apply (wanted_recognised phi).
Qed.

Theorem global_answers_once {D} (evs : stream D) phi width x : NoDup (global_answers width x evs phi).
Proof.
  apply AlgorithmProofs.NoDup_flat_map; [apply seq_NoDup | |].
  - intros j _. apply FinFun.Injective_map_NoDup; [|apply AlgorithmProofs.outputs_once].
    intros [i P] [i' P'] E. injection E as -> E. apply (f_equal (@rev nat)) in E.
    rewrite !rev_involutive in E. now subst.
  - intros j j' C _ _ H H'. apply in_map_iff in H as ([i P] & <- & _).
    apply in_map_iff in H' as ([i' P'] & E & _). now injection E as _ <- _.
Qed.
